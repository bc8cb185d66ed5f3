/** A button that opens a list of actions. Arrow keys move, Enter chooses, Escape closes. */

import {
  type KeyboardEvent,
  type ReactNode,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import { Button, type ButtonProps, IconButton } from "./button";
import { cx } from "./cx";
import { Icon, type IconName } from "./icons";

export interface MenuItem {
  label: string;
  icon?: IconName;
  danger?: boolean;
  disabled?: boolean;
  /** A rule is drawn above it. */
  apart?: boolean;
  onSelect: () => void;
}

export function Menu({
  label,
  icon,
  items,
  look,
  small,
  iconOnly,
  align = "end",
}: {
  label: string;
  icon?: IconName;
  items: MenuItem[];
  look?: ButtonProps["look"];
  small?: boolean;
  iconOnly?: boolean;
  align?: "start" | "end";
}) {
  const popover = usePopover();
  const list = useRef<HTMLDivElement>(null);
  const { open, ref } = popover;
  useLayoutEffect(() => {
    if (!open) return;
    const follow = () => place(list.current!, ref.current!.getBoundingClientRect(), align);
    follow();
    list
      .current!.querySelector<HTMLElement>("[role=menuitem]:not([disabled])")
      ?.focus({ preventScroll: true });
    document.addEventListener("scroll", follow, true);
    window.addEventListener("resize", follow);
    return () => {
      document.removeEventListener("scroll", follow, true);
      window.removeEventListener("resize", follow);
    };
  }, [open, ref, align]);

  function move(event: KeyboardEvent) {
    const all = [...(list.current?.querySelectorAll<HTMLElement>("[role=menuitem]:not([disabled])") ?? [])];
    const at = all.indexOf(document.activeElement as HTMLElement);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    all.at(next % all.length)?.focus();
  }

  const shared = {
    "aria-haspopup": "menu" as const,
    "aria-expanded": popover.open,
    "aria-controls": popover.id,
    onClick: popover.toggle,
  };
  return (
    <div ref={popover.ref} className="relative">
      {iconOnly ? (
        <IconButton icon={icon ?? "more"} label={label} small={small} look={look} {...shared} />
      ) : (
        <Button icon={icon} small={small} look={look} {...shared}>
          {label}
          <Icon name="chevronDown" size={12} className="-mr-0.5 opacity-70" />
        </Button>
      )}
      {popover.open && (
        <div
          ref={list}
          id={popover.id}
          role="menu"
          aria-label={label}
          tabIndex={-1}
          onKeyDown={move}
          className="fixed z-30 min-w-44 rounded-lg border border-line bg-surface p-1 shadow-raised motion-safe:animate-[arrive_100ms_ease-out]"
        >
          {items.map((item) => (
            <div
              key={item.label}
              role="none"
              className={item.apart ? "mt-1 border-line border-t pt-1" : undefined}
            >
              <button
                type="button"
                role="menuitem"
                tabIndex={-1}
                disabled={item.disabled}
                onClick={() => {
                  popover.leave();
                  item.onSelect();
                }}
                className={cx(
                  "flex h-8 w-full items-center gap-2 pointer-coarse:h-11 whitespace-nowrap rounded-md px-2 text-left text-sm hover:bg-hover focus:bg-hover disabled:opacity-50",
                  item.danger ? "text-danger" : "text-ink",
                )}
              >
                {item.icon && <Icon name={item.icon} size={14} className={item.danger ? "" : "text-ink-3"} />}
                {item.label}
              </button>
            </div>
          ))}
        </div>
      )}
    </div>
  );
}

const GAP = 4;
const EDGE = 8;

/** Below the button, or above it where there is no room; never cut by what it is in, nor by the window. */
function place(list: HTMLElement, button: DOMRect, align: "start" | "end"): void {
  const { offsetWidth: width, offsetHeight: height } = list;
  const left = align === "end" ? button.right - width : button.left;
  const below = button.bottom + GAP;
  const top = below + height + EDGE > window.innerHeight ? button.top - GAP - height : below;
  list.style.left = `${Math.max(EDGE, Math.min(left, document.documentElement.clientWidth - width - EDGE))}px`;
  list.style.top = `${Math.max(EDGE, top)}px`;
}

/** Something that opens below a button and closes when one looks elsewhere. */
export function usePopover() {
  const [open, setOpen] = useState(false);
  const ref = useRef<HTMLDivElement>(null);
  const id = useId();
  const close = () => setOpen(false);
  /** Close it and go back to its button, so that whatever opens next gives the focus back to that. */
  const leave = () => {
    setOpen(false);
    ref.current?.querySelector<HTMLElement>("button")?.focus();
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: leaving is always the same
  useEffect(() => {
    if (!open) return;
    function away(event: PointerEvent | FocusEvent) {
      if (!ref.current?.contains(event.target as Node)) setOpen(false);
    }
    function press(event: globalThis.KeyboardEvent) {
      if (event.key !== "Escape") return;
      event.preventDefault();
      event.stopPropagation();
      leave();
    }
    document.addEventListener("pointerdown", away);
    document.addEventListener("focusin", away);
    document.addEventListener("keydown", press, true);
    return () => {
      document.removeEventListener("pointerdown", away);
      document.removeEventListener("focusin", away);
      document.removeEventListener("keydown", press, true);
    };
  }, [open]);
  return { open, ref, id, toggle: () => setOpen(!open), close, leave };
}

/** A button with a panel of anything below it. */
export function Popover({
  label,
  icon,
  small,
  children,
}: {
  label: string;
  icon?: IconName;
  small?: boolean;
  children: (close: () => void) => ReactNode;
}) {
  const popover = usePopover();
  return (
    <div ref={popover.ref} className="relative">
      <Button
        icon={icon}
        small={small}
        aria-haspopup="dialog"
        aria-expanded={popover.open}
        aria-controls={popover.id}
        onClick={popover.toggle}
      >
        {label}
        <Icon name="chevronDown" size={12} className="-mr-0.5 opacity-70" />
      </Button>
      {popover.open && (
        <div
          id={popover.id}
          role="dialog"
          aria-label={label}
          className="absolute top-full right-0 z-30 mt-1 min-w-56 rounded-lg border border-line bg-surface p-3 shadow-raised max-sm:fixed max-sm:inset-x-4 max-sm:top-auto"
        >
          {children(popover.close)}
        </div>
      )}
    </div>
  );
}
