/** Views: searches kept under a name. One is chosen, kept, named anew, made the first one, or forgotten. */

import { type FormEvent, useEffect, useState } from "react";
import { Badge } from "@/components/badge";
import { Button, IconButton } from "@/components/button";
import { cx } from "@/components/cx";
import { TextField } from "@/components/field";
import { Popover } from "@/components/menu";
import { toast } from "@/components/toast";
import { useStore } from "@/lib/store";
import { param, useParams } from "@/lib/url";
import {
  keepViews,
  lastingParams,
  savedViews,
  showsSame,
  type View,
  watchViews,
  withDefault,
  withName,
  withoutView,
  withView,
} from "@/lib/views";

/** The page opened without a search begins with the view that was made the first one. */
export function useDefaultView(): void {
  const [params, change] = useParams();
  // biome-ignore lint/correctness/useExhaustiveDependencies: only when the page is opened
  useEffect(() => {
    const first = savedViews.get().find((view) => view.isDefault);
    if (first && Object.keys(lastingParams(params)).length === 0 && param(params, "view") === "") {
      change({ ...first.params, view: first.name }, { clear: true });
    }
  }, []);
}

export function Views() {
  const views = useStore(savedViews);
  const [params, change] = useParams();
  const current = views.find((view) => view.name === param(params, "view"));
  const isChanged = current !== undefined && !showsSame(current.params, params);
  useEffect(watchViews, []);

  function open(view: View | null) {
    change(view ? { ...view.params, view: view.name } : { view: "" }, { clear: true, push: true });
  }

  return (
    <Popover label={current ? `${current.name}${isChanged ? " (changed)" : ""}` : "Views"} icon="bookmark">
      {(close) => (
        <div className="flex flex-col gap-3 sm:w-80">
          <ul className="-mx-1 flex flex-col">
            <li>
              <ViewName
                isCurrent={!current && showsSame({}, params)}
                onClick={() => {
                  open(null);
                  close();
                }}
              >
                All jobs
              </ViewName>
            </li>
            {views.map((view) => (
              <ViewLine
                key={view.name}
                view={view}
                isCurrent={view === current}
                onOpen={() => {
                  open(view);
                  close();
                }}
                onRename={(name) => {
                  keepViews(withName(views, view.name, name));
                  if (view === current) change({ view: name });
                }}
                onDelete={() => {
                  keepViews(withoutView(views, view.name));
                  if (view === current) change({ view: undefined });
                  toast.good(`View “${view.name}” deleted`, { label: "Undo", run: () => keepViews(views) });
                }}
                onDefault={() => keepViews(withDefault(views, view.isDefault ? null : view.name))}
              />
            ))}
          </ul>
          {isChanged && (
            <Button
              small
              look="primary"
              onClick={() => {
                keepViews(withView(views, current.name, params));
                toast.good(`View “${current.name}” saved`);
                close();
              }}
            >
              Save changes to “{current.name}”
            </Button>
          )}
          <SaveView
            onSave={(name) => {
              keepViews(withView(views, name, params));
              change({ view: name });
              toast.good(`View “${name}” saved`);
              close();
            }}
          />
          <p className="text-xs text-ink-3">
            Views are kept in this browser. To share one, share the address.
          </p>
        </div>
      )}
    </Popover>
  );
}

function ViewName({
  isCurrent,
  onClick,
  children,
}: {
  isCurrent: boolean;
  onClick: () => void;
  children: string;
}) {
  return (
    <button
      type="button"
      aria-current={isCurrent || undefined}
      onClick={onClick}
      className={cx(
        "h-8 w-full min-w-0 truncate rounded-md px-2 text-left text-sm hover:bg-hover",
        isCurrent && "bg-accent-soft font-medium",
      )}
    >
      {children}
    </button>
  );
}

function ViewLine({
  view,
  isCurrent,
  onOpen,
  onRename,
  onDelete,
  onDefault,
}: {
  view: View;
  isCurrent: boolean;
  onOpen: () => void;
  onRename: (name: string) => void;
  onDelete: () => void;
  onDefault: () => void;
}) {
  const [name, setName] = useState<string | null>(null);
  if (name !== null) {
    return (
      <li className="px-1 py-1">
        <NameForm
          label={`New name of ${view.name}`}
          value={name}
          onChange={setName}
          button="Rename"
          onSubmit={(next) => {
            setName(null);
            onRename(next);
          }}
        />
      </li>
    );
  }
  return (
    <li className="flex items-center gap-0.5">
      <ViewName isCurrent={isCurrent} onClick={onOpen}>
        {view.name}
      </ViewName>
      {view.isDefault && <Badge>default</Badge>}
      <IconButton
        small
        icon="star"
        label={`Open the page with ${view.name}`}
        aria-pressed={view.isDefault ?? false}
        className={view.isDefault ? "text-accent [&_svg]:fill-current" : undefined}
        onClick={onDefault}
      />
      <IconButton small icon="edit" label={`Rename ${view.name}`} onClick={() => setName(view.name)} />
      <IconButton small icon="trash" label={`Delete ${view.name}`} onClick={onDelete} />
    </li>
  );
}

function SaveView({ onSave }: { onSave: (name: string) => void }) {
  const [name, setName] = useState("");
  return (
    <NameForm
      label="Save this search as"
      value={name}
      onChange={setName}
      button="Save"
      onSubmit={onSave}
      isLabelled
    />
  );
}

function NameForm({
  label,
  value,
  onChange,
  button,
  onSubmit,
  isLabelled,
}: {
  label: string;
  value: string;
  onChange: (value: string) => void;
  button: string;
  onSubmit: (name: string) => void;
  isLabelled?: boolean;
}) {
  function submit(event: FormEvent) {
    event.preventDefault();
    if (value.trim()) onSubmit(value.trim());
  }
  return (
    <form onSubmit={submit} className="flex items-end gap-2">
      <div className="min-w-0 flex-1">
        <TextField
          label={label}
          bare={!isLabelled}
          maxLength={60}
          placeholder="Failed mails of today"
          value={value}
          onChange={(event) => onChange(event.target.value)}
          autoFocus={!isLabelled}
        />
      </div>
      <Button type="submit" disabled={!value.trim()}>
        {button}
      </Button>
    </form>
  );
}
