/** Search and commands in one field: pages, queues, jobs by id or by any text in them, and actions. */

import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type KeyboardEvent, useDeferredValue, useEffect, useId, useRef, useState } from "react";
import { Kbd } from "@/components/badge";
import { cx } from "@/components/cx";
import { Dialog } from "@/components/dialog";
import { Icon, type IconName } from "@/components/icons";
import { StatePill } from "@/components/states";
import { openEnqueue } from "@/jobs/enqueue-dialog";
import { queries } from "@/lib/queries";
import { chooseTheme } from "@/lib/theme";
import { PLACES } from "./navigation";

interface Command {
  id: string;
  group: string;
  icon: IconName;
  label: string;
  note?: string;
  state?: string;
  keys?: string;
  run: () => void;
}

const MOST_QUEUES = 6;

export function CommandPalette({ close }: { close: () => void }) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const commands = useCommands(text);
  const listId = useId();
  const list = useRef<HTMLDivElement>(null);
  const chosen = Math.min(at, commands.length - 1);

  useEffect(() => {
    list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  });

  function run(command: Command | undefined) {
    if (!command) return;
    close();
    command.run();
  }

  function press(event: KeyboardEvent) {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : -1;
      setAt((chosen + step + commands.length) % Math.max(1, commands.length));
    } else if (event.key === "Enter") {
      event.preventDefault();
      run(commands[chosen]);
    }
  }

  return (
    <Dialog title="Search and commands" close={close} width="medium" bare>
      <div className="flex items-center gap-2 border-line border-b px-4">
        <Icon name="search" className="text-ink-3" />
        <input
          role="combobox"
          aria-label="Search jobs, queues, pages and actions"
          aria-expanded="true"
          aria-controls={listId}
          aria-activedescendant={commands[chosen] && `${listId}-${chosen}`}
          autoFocus
          autoComplete="off"
          spellCheck={false}
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setAt(0);
          }}
          onKeyDown={press}
          placeholder="Job id, queue, any text in a job, or a command"
          className="h-12 min-w-0 flex-1 bg-transparent text-base outline-none"
        />
        <Kbd>Esc</Kbd>
      </div>
      <div
        ref={list}
        id={listId}
        role="listbox"
        aria-label="Results"
        className="max-h-[min(26rem,60vh)] overflow-y-auto p-2"
      >
        {commands.length === 0 && <p className="px-3 py-8 text-center text-ink-2 text-sm">Nothing found.</p>}
        {commands.map((command, place) => (
          <div key={command.id} role="presentation">
            {commands[place - 1]?.group !== command.group && (
              <p className="px-2 pt-2 pb-1 text-xs font-medium text-ink-3" aria-hidden="true">
                {command.group}
              </p>
            )}
            {/* biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the keys */}
            {/* biome-ignore lint/a11y/useFocusableInteractive: the field above has the focus */}
            <div
              id={`${listId}-${place}`}
              role="option"
              aria-selected={place === chosen}
              onPointerMove={() => setAt(place)}
              onClick={() => run(command)}
              className={cx(
                "flex h-9 cursor-pointer items-center pointer-coarse:h-11 gap-2.5 rounded-lg px-2 text-sm",
                place === chosen && "bg-accent-soft",
              )}
            >
              <Icon name={command.icon} className="shrink-0 text-ink-3" />
              <span className="truncate">{command.label}</span>
              {command.note && (
                <span className="min-w-0 flex-1 truncate text-xs text-ink-3">{command.note}</span>
              )}
              <span className="ml-auto flex shrink-0 gap-1">
                {command.state && <StatePill state={command.state} />}
                {command.keys?.split(" ").map((key) => (
                  <Kbd key={key}>{key}</Kbd>
                ))}
              </span>
            </div>
          </div>
        ))}
      </div>
    </Dialog>
  );
}

function useCommands(text: string): Command[] {
  const navigate = useNavigate();
  const queues = useQuery(queries.queues()).data ?? [];
  const wanted = text.trim().toLowerCase();
  const looked = useDeferredValue(text.trim());
  const hits = useQuery({ ...queries.fulltext(looked), enabled: looked.length >= 2 }).data?.results ?? [];
  const matches = (label: string) => label.toLowerCase().includes(wanted);

  const commands: Command[] = [];
  if (/^job_[0-9A-Za-z]{26}$/.test(text.trim())) {
    const id = text.trim();
    commands.push({
      id: "job",
      group: "Job",
      icon: "jobs",
      label: `Open ${id}`,
      run: () => void navigate({ to: "/jobs/$id", params: { id } }),
    });
  }
  for (const queue of queues.filter((queue) => matches(queue.name)).slice(0, wanted ? MOST_QUEUES : 4)) {
    commands.push({
      id: `queue ${queue.name}`,
      group: "Queues",
      icon: queue.paused ? "pause" : "queues",
      label: queue.name,
      note: `${queue.pending} pending, ${queue.active} active${queue.paused ? ", paused" : ""}`,
      run: () => void navigate({ to: "/queues/$name", params: { name: queue.name } }),
    });
  }
  for (const place of PLACES.filter((place) => matches(place.label))) {
    commands.push({
      id: `place ${place.to}`,
      group: "Pages",
      icon: place.icon,
      label: place.label,
      keys: place.keys,
      run: () => void navigate({ to: place.to }),
    });
  }
  const actions: Omit<Command, "group">[] = [
    { id: "enqueue", icon: "plus", label: "Enqueue a job", keys: "e", run: () => openEnqueue() },
    { id: "light", icon: "sun", label: "Light theme", run: () => chooseTheme("light") },
    { id: "dark", icon: "moon", label: "Dark theme", run: () => chooseTheme("dark") },
    { id: "system", icon: "system", label: "Theme of the system", run: () => chooseTheme("system") },
  ];
  commands.push(
    ...actions.filter((action) => matches(action.label)).map((action) => ({ ...action, group: "Actions" })),
  );
  if (wanted.length >= 2) {
    for (const hit of hits) {
      commands.push({
        id: hit.id,
        group: "Jobs",
        icon: "jobs",
        label: hit.queue,
        note: hit.payload.slice(0, 200),
        state: hit.state,
        run: () => void navigate({ to: "/jobs/$id", params: { id: hit.id } }),
      });
    }
    commands.push({
      id: "search",
      group: "Jobs",
      icon: "search",
      label: `Jobs whose payload contains “${text.trim()}”`,
      run: () => void navigate({ to: "/jobs", search: { payload: text.trim() } as never }),
    });
  }
  return commands;
}
