/** The frame around every page: sidebar, top bar, what is shown over all of it, and the keys that work everywhere. */

import { Outlet, useNavigate, useRouterState } from "@tanstack/react-router";
import { useEffect, useMemo, useRef, useState } from "react";
import { Kbd } from "@/components/badge";
import { Button, IconButton } from "@/components/button";
import { Dialogs, openDialog } from "@/components/dialog";
import { Icon } from "@/components/icons";
import { Menu } from "@/components/menu";
import { Toasts } from "@/components/toast";
import { openEnqueue } from "@/jobs/enqueue-dialog";
import { auth } from "@/lib/auth";
import { moveRow, type Shortcut, useShortcuts } from "@/lib/shortcuts";
import { useStore } from "@/lib/store";
import { chooseTheme, theme } from "@/lib/theme";
import { ShortcutHelp } from "./help";
import { KeyPage } from "./key-dialog";
import { LiveSign, StaleBanner } from "./live-state";
import { PLACES } from "./navigation";
import { CommandPalette } from "./palette";
import { Sidebar } from "./sidebar";

function openPalette() {
  openDialog((close) => <CommandPalette close={close} />);
}

function openHelp() {
  openDialog((close) => <ShortcutHelp close={close} />);
}

/** Into the queue that is looked at, if one is. */
function enqueue() {
  const name = /\/queues\/([^/]+)$/.exec(location.pathname)?.[1];
  openEnqueue(name === undefined ? {} : { queue: decodeURIComponent(name) });
}

/** A page may have a field of its own for searching; else it is the palette. */
function search() {
  const field = document.querySelector<HTMLInputElement>("main [data-search] input, main input[data-search]");
  if (field) field.focus();
  else openPalette();
}

export function Shell() {
  const { refused } = useStore(auth);
  return refused === null ? <Frame /> : <KeyPage />;
}

function Frame() {
  const navigate = useNavigate();
  const path = useRouterState({ select: (state) => state.location.pathname });
  const [open, setOpen] = useState(false);
  const main = useRef<HTMLElement>(null);
  const isFirst = useRef(true);

  const shortcuts = useMemo<Shortcut[]>(() => {
    const all: Shortcut[] = [
      { keys: "/", label: "Search", run: search },
      { keys: "?", label: "Keyboard shortcuts", run: openHelp },
      { keys: "e", label: "Enqueue a job", run: enqueue },
      ...PLACES.map((place) => ({
        keys: place.keys,
        label: `Go to ${place.label}`,
        run: () => void navigate({ to: place.to }),
      })),
      { keys: "j", label: "Next row", run: () => moveRow(1) },
      { keys: "k", label: "Previous row", run: () => moveRow(-1) },
    ];
    return all;
  }, [navigate]);
  useShortcuts(shortcuts);

  useEffect(() => {
    function press(event: KeyboardEvent) {
      if (event.key !== "k" || !(event.ctrlKey || event.metaKey) || document.querySelector("dialog[open]"))
        return;
      event.preventDefault();
      openPalette();
    }
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, []);

  // Whoever listens to the page hears that it is another one.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the path is the reason
  useEffect(() => {
    setOpen(false);
    if (isFirst.current) isFirst.current = false;
    else main.current?.focus({ preventScroll: true });
  }, [path]);

  return (
    <div className="flex min-h-dvh">
      <button
        type="button"
        onClick={() => main.current?.focus()}
        className="sr-only z-50 focus:not-sr-only focus:fixed focus:top-2 focus:left-2 focus:rounded-lg focus:bg-surface focus:px-3 focus:py-2"
      >
        Skip to the page
      </button>
      <aside className="sticky top-0 h-dvh w-56 shrink-0 border-line border-r max-lg:hidden print:hidden">
        <Sidebar />
      </aside>
      {open && <Drawer close={() => setOpen(false)} />}
      <div className="flex min-w-0 flex-1 flex-col">
        <header className="sticky top-0 z-20 border-line border-b bg-surface print:hidden">
          <div className="flex h-12 items-center gap-2 px-3 sm:px-6 lg:px-8 pointer-coarse:h-15">
            <IconButton
              icon="menu"
              label="Open navigation"
              className="lg:hidden"
              onClick={() => setOpen(true)}
            />
            <button
              type="button"
              onClick={openPalette}
              className="flex h-8 min-w-0 max-w-md flex-1 pointer-coarse:h-11 items-center gap-2 rounded-lg border border-line bg-sunken px-2.5 text-sm text-ink-3 hover:border-line-strong"
            >
              <Icon name="search" size={14} />
              <span className="flex-1 truncate text-left">
                Search<span className="max-sm:sr-only"> or run a command</span>
              </span>
              <span className="flex gap-1 max-md:hidden" aria-hidden="true">
                <Kbd>Ctrl</Kbd>
                <Kbd>K</Kbd>
              </span>
            </button>
            <div className="ml-auto flex items-center gap-1">
              <LiveSign />
              <ThemeMenu />
              <IconButton
                icon="help"
                label="Keyboard shortcuts"
                className="max-sm:hidden"
                onClick={openHelp}
              />
              <Button look="primary" icon="plus" className="ml-1 max-sm:hidden" onClick={enqueue}>
                Enqueue
              </Button>
              <IconButton
                look="primary"
                icon="plus"
                label="Enqueue a job"
                className="sm:hidden"
                onClick={enqueue}
              />
            </div>
          </div>
          <StaleBanner />
        </header>
        <main ref={main} tabIndex={-1} className="flex-1">
          <Outlet />
        </main>
      </div>
      <Dialogs />
      <Toasts />
    </div>
  );
}

function ThemeMenu() {
  const { shown } = useStore(theme);
  return (
    <Menu
      label="Theme"
      iconOnly
      look="quiet"
      icon={shown === "dark" ? "moon" : "sun"}
      items={[
        { label: "Light", icon: "sun", onSelect: () => chooseTheme("light") },
        { label: "Dark", icon: "moon", onSelect: () => chooseTheme("dark") },
        { label: "As the system", icon: "system", onSelect: () => chooseTheme("system") },
      ]}
    />
  );
}

/** The sidebar on a small screen. */
function Drawer({ close }: { close: () => void }) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const drawer = ref.current!;
    drawer.showModal();
    return () => drawer.close();
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it too
    <dialog
      ref={ref}
      aria-label="Navigation"
      onCancel={close}
      onClick={(event) => event.target === ref.current && close()}
      className="m-0 h-dvh max-h-none w-72 border-line border-r bg-surface text-ink"
    >
      <Sidebar onGo={close} />
    </dialog>
  );
}
