-- Which jobs an action on many could not change, and why.

ALTER TABLE bulk ADD COLUMN not_done TEXT;                       -- [[job id, reason], ...], the first 100; NULL: none
