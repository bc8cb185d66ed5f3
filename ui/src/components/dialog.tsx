/**
 * Dialogs on the browser's own <dialog>: it traps the focus, closes on Escape and gives the focus back.
 * Open one with `openDialog((close) => <MyDialog close={close} />)` from anywhere; nothing has to be kept by the page.
 */

import { type FormEvent, type ReactNode, useEffect, useId, useRef, useState } from "react";
import { messageOf } from "@/lib/api";
import { createStore, useStore } from "@/lib/store";
import { Button, IconButton } from "./button";
import { cx } from "./cx";
import { Note } from "./feedback";
import { TextField } from "./field";

interface Opened {
  id: number;
  draw: (close: () => void) => ReactNode;
}

const opened = createStore<Opened[]>([]);
let lastId = 0;

/** Show a dialog; it gets what closes it. */
export function openDialog(draw: Opened["draw"]): void {
  lastId += 1;
  opened.set([...opened.get(), { id: lastId, draw }]);
}

/** Whether any dialog is open, so that shortcuts of the page rest. */
export function isDialogOpen(): boolean {
  return document.querySelector("dialog[open]") !== null;
}

/** Where opened dialogs are drawn. Once, in the shell. */
export function Dialogs() {
  return useStore(opened).map(({ id, draw }) => (
    <Keyed key={id}>{draw(() => opened.set(opened.get().filter((other) => other.id !== id)))}</Keyed>
  ));
}

function Keyed({ children }: { children: ReactNode }) {
  return children;
}

const WIDTHS = { narrow: "max-w-md", medium: "max-w-xl", wide: "max-w-3xl" };

/** The frame of a dialog. */
export function Dialog({
  title,
  close,
  width = "narrow",
  children,
  footer,
  bare,
}: {
  title: string;
  close: () => void;
  width?: keyof typeof WIDTHS;
  children: ReactNode;
  footer?: ReactNode;
  /** Without heading and padding; the title is only read aloud. */
  bare?: boolean;
}) {
  const ref = useRef<HTMLDialogElement>(null);
  const pressed = useRef(false);
  const titleId = useId();
  useEffect(() => {
    const dialog = ref.current!;
    const before = document.activeElement;
    dialog.showModal();
    const field = dialog.querySelector<HTMLElement>("[data-first]");
    if (field) field.focus();
    // Nothing to fill in: then the dialog itself is read, and not the button that closes it.
    else if (document.activeElement?.matches("[data-close]")) dialog.focus();
    return () => {
      dialog.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it too
    <dialog
      ref={ref}
      aria-labelledby={titleId}
      tabIndex={-1}
      onCancel={(event) => {
        event.preventDefault();
        close();
      }}
      onPointerDown={(event) => {
        pressed.current = event.target === ref.current;
      }}
      onClick={(event) => {
        if (pressed.current && event.target === ref.current) close();
      }}
      className={cx(
        "m-auto outline-none max-h-[calc(100dvh-2rem)] w-[calc(100%-2rem)] overflow-hidden rounded-xl border border-line bg-surface text-ink shadow-raised open:flex open:flex-col motion-safe:animate-[arrive_140ms_ease-out]",
        bare && "mt-[12vh]",
        WIDTHS[width],
      )}
    >
      {bare ? (
        <h2 id={titleId} className="sr-only">
          {title}
        </h2>
      ) : (
        <header className="flex items-center gap-2 py-3 pr-3 pl-5">
          <h2 id={titleId} className="min-w-0 flex-1 truncate text-lg font-semibold">
            {title}
          </h2>
          <IconButton icon="close" label="Close" data-close small onClick={close} />
        </header>
      )}
      <div className={cx("relative min-h-0 flex-1 overflow-y-auto", !bare && "px-5 pb-4")}>{children}</div>
      {footer && (
        <footer className="flex flex-wrap items-center justify-end gap-2 border-line border-t px-5 py-3">
          {footer}
        </footer>
      )}
    </dialog>
  );
}

/** A dialog that is a form: it sends once, shows what went wrong and closes when it went well. */
export function FormDialog({
  title,
  close,
  width,
  submit,
  label,
  danger,
  disabled,
  aside,
  children,
}: {
  title: string;
  close: () => void;
  width?: keyof typeof WIDTHS;
  /** Do it. What it throws is shown. */
  submit: () => Promise<unknown>;
  /** What the button says: a verb and what it is about. */
  label: string;
  danger?: boolean;
  disabled?: boolean;
  aside?: ReactNode;
  children: ReactNode;
}) {
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState<string | null>(null);
  const formId = useId();
  async function send(event: FormEvent) {
    event.preventDefault();
    if (busy || disabled) return;
    setBusy(true);
    setFault(null);
    try {
      await submit();
      close();
    } catch (error) {
      setFault(messageOf(error));
      setBusy(false);
    }
  }
  return (
    <Dialog
      title={title}
      close={close}
      width={width}
      footer={
        <>
          {aside && <div className="mr-auto">{aside}</div>}
          <Button onClick={close}>Cancel</Button>
          <Button
            type="submit"
            form={formId}
            look={danger ? "danger" : "primary"}
            busy={busy}
            disabled={disabled}
          >
            {label}
          </Button>
        </>
      }
    >
      <form id={formId} onSubmit={send} className="flex flex-col gap-4" noValidate>
        {children}
        {fault && <Note tone="danger">{fault}</Note>}
      </form>
    </Dialog>
  );
}

/** Ask before something is done. With `retype` the name must be written first. */
export function ConfirmDialog({
  title,
  close,
  label,
  submit,
  retype,
  danger = true,
  children,
}: {
  title: string;
  close: () => void;
  label: string;
  submit: () => Promise<unknown>;
  retype?: string;
  danger?: boolean;
  children: ReactNode;
}) {
  const [typed, setTyped] = useState("");
  return (
    <FormDialog
      title={title}
      close={close}
      submit={submit}
      label={label}
      danger={danger}
      disabled={retype !== undefined && typed !== retype}
    >
      <div className="flex flex-col gap-2 text-ink-2">{children}</div>
      {retype !== undefined && (
        <TextField
          label={`Type ${retype} to confirm`}
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
          autoFocus
        />
      )}
    </FormDialog>
  );
}
