/** Make or change a webhook. Its secret is shown only while it is made: the server never tells it again. */

import { useState } from "react";
import { Chip } from "@/components/badge";
import { Button } from "@/components/button";
import { FormDialog, openDialog } from "@/components/dialog";
import { CheckField, Segmented, TextField } from "@/components/field";
import { toast } from "@/components/toast";
import { api } from "@/lib/endpoints";
import { refresh } from "@/lib/queries";
import type { WebhookView } from "@/lib/records";
import { EVENTS, EVERYTHING, urlFault } from "@/lib/webhooks";
import { QueueField } from "@/queues/queue-field";
import { NO_SECRET, SecretField, type SecretPlan } from "./secret";

export function openWebhookForm(webhook?: WebhookView): void {
  openDialog((close) => <WebhookForm webhook={webhook} close={close} />);
}

function WebhookForm({ webhook, close }: { webhook?: WebhookView; close: () => void }) {
  const [url, setUrl] = useState(webhook?.url ?? "");
  const [touched, setTouched] = useState(false);
  const [which, setWhich] = useState<"all" | "some">(
    webhook && !webhook.events.includes(EVERYTHING) ? "some" : webhook ? "all" : "some",
  );
  const [events, setEvents] = useState<Set<string>>(
    new Set(webhook?.events.filter((type) => type !== EVERYTHING) ?? ["completed", "dead"]),
  );
  const [chosen, setChosen] = useState(webhook?.queues ?? []);
  const [attempts, setAttempts] = useState(String(webhook?.retry_limit ?? 3));
  const [secret, setSecret] = useState<SecretPlan>(webhook?.secret_set ? { kind: "keep" } : NO_SECRET);
  const fault = urlFault(url);
  const lacksSecret = secret.kind === "set" && secret.text.trim() === "";
  const attemptsFault =
    /^\d{1,3}$/.test(attempts.trim()) && Number(attempts) >= 1 && Number(attempts) <= 100
      ? null
      : "A whole number from 1 to 100";

  async function submit() {
    await api.saveWebhook({
      id: webhook?.id,
      url: url.trim(),
      events: which === "all" ? [EVERYTHING] : [...events],
      queues: chosen,
      retry_limit: Number(attempts),
      secret: secret.kind === "keep" ? undefined : secret.kind === "set" ? secret.text.trim() : "",
    });
    toast.good(
      webhook ? "The webhook is saved." : "The webhook is made. Send a test to see whether it works.",
    );
    await refresh("webhooks");
  }

  return (
    <FormDialog
      title={webhook ? "Edit webhook" : "New webhook"}
      width="medium"
      close={close}
      submit={submit}
      label={webhook ? "Save" : "Make the webhook"}
      disabled={
        fault !== null || attemptsFault !== null || lacksSecret || (which === "some" && events.size === 0)
      }
    >
      <TextField
        label="Address"
        type="url"
        inputMode="url"
        value={url}
        onChange={(event) => setUrl(event.target.value)}
        onBlur={() => setTouched(true)}
        placeholder="https://example.com/hooks/jobs"
        fault={touched && url !== "" ? fault : null}
        hint="Each event is a POST of its own. Any 2xx answer means delivered."
        autoFocus={!webhook}
        required
      />
      <fieldset className="min-w-0">
        <legend className="mb-1 font-medium text-ink-2 text-sm">Events</legend>
        <Segmented
          label="Which events"
          value={which}
          onChange={setWhich}
          options={[
            ["some", "Some"],
            ["all", "All events"],
          ]}
        />
        {which === "some" && (
          <div className="mt-3 grid grid-cols-2 gap-x-4 gap-y-3 sm:grid-cols-3">
            {EVENTS.map(([group, types]) => (
              <div key={group} className="flex flex-col gap-1">
                <p className="text-ink-3 text-xs">{group}</p>
                {types.map((type) => (
                  <CheckField
                    key={type}
                    label={type}
                    checked={events.has(type)}
                    onChange={(on) => {
                      const next = new Set(events);
                      if (on) next.add(type);
                      else next.delete(type);
                      setEvents(next);
                    }}
                  />
                ))}
              </div>
            ))}
          </div>
        )}
        {which === "some" && events.size === 0 && (
          <p role="alert" className="mt-2 text-danger text-xs">
            Choose at least one event.
          </p>
        )}
      </fieldset>
      <QueueChoice chosen={chosen} onChange={setChosen} />
      <SecretField plan={secret} isSet={webhook?.secret_set ?? false} onChange={setSecret} />
      <div className="sm:w-1/2">
        <TextField
          label="Attempts for each event"
          inputMode="numeric"
          value={attempts}
          onChange={(event) => setAttempts(event.target.value)}
          fault={attemptsFault}
        />
      </div>
    </FormDialog>
  );
}

function QueueChoice({ chosen, onChange }: { chosen: string[]; onChange: (chosen: string[]) => void }) {
  const [typed, setTyped] = useState("");
  function add() {
    const name = typed.trim();
    if (name !== "" && !chosen.includes(name)) onChange([...chosen, name]);
    setTyped("");
  }
  return (
    <div>
      <div className="flex items-start gap-2">
        <div className="min-w-0 flex-1">
          <QueueField
            label="Queues"
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
            onKeyDown={(event) => {
              if (event.key !== "Enter" || typed.trim() === "") return;
              event.preventDefault();
              add();
            }}
            onBlur={add}
            except={chosen}
            placeholder="Add a queue"
            hint={chosen.length === 0 ? "None named: events of all queues" : "Only events of these queues"}
          />
        </div>
        <Button className="mt-6" icon="plus" disabled={typed.trim() === ""} onClick={add}>
          Add
        </Button>
      </div>
      {chosen.length > 0 && (
        <div className="mt-2 flex flex-wrap gap-1.5">
          {chosen.map((name) => (
            <Chip key={name} onRemove={() => onChange(chosen.filter((other) => other !== name))}>
              {name}
            </Chip>
          ))}
        </div>
      )}
    </div>
  );
}
