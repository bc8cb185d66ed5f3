/** Buttons. `primary` for the one thing to do here, `danger` for what cannot be undone. */

import { Link, type LinkProps } from "@tanstack/react-router";
import type { ButtonHTMLAttributes, ReactNode, Ref } from "react";
import { cx } from "./cx";
import { Icon, type IconName } from "./icons";

export type Look = "plain" | "primary" | "danger" | "quiet";

const LOOKS: Record<Look, string> = {
  plain: "border-line-strong bg-surface text-ink hover:bg-hover",
  primary: "border-transparent bg-fill text-on-fill hover:bg-fill-strong",
  danger: "border-transparent bg-danger-fill text-on-fill hover:bg-danger-fill-strong",
  quiet: "border-transparent text-ink-2 hover:bg-hover hover:text-ink",
};
const BASE =
  "inline-flex shrink-0 select-none items-center justify-center gap-1.5 whitespace-nowrap rounded-[7px] border text-sm font-medium transition-colors disabled:opacity-50 disabled:pointer-events-none";

interface Shared {
  look?: Look;
  icon?: IconName;
  small?: boolean;
  children?: ReactNode;
}

export type ButtonProps = Shared &
  ButtonHTMLAttributes<HTMLButtonElement> & { ref?: Ref<HTMLButtonElement>; busy?: boolean };

/** The classes of a button, for things that look like one. */
export function buttonClass({ look = "plain", small }: { look?: Look; small?: boolean } = {}): string {
  return cx(BASE, LOOKS[look], small ? "h-7 px-2" : "h-8 px-3", "pointer-coarse:h-11 pointer-coarse:px-3");
}

export function Button({ look, icon, small, busy, className, children, disabled, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      className={cx(buttonClass({ look, small }), className)}
      disabled={disabled || busy}
      aria-busy={busy || undefined}
      {...rest}
    >
      {icon && <Icon name={icon} size={small ? 14 : 15} />}
      {children}
    </button>
  );
}

/** A button that is only an icon; its label is read aloud and shown on hover. */
export function IconButton({
  icon,
  label,
  look = "quiet",
  small,
  className,
  ...rest
}: Omit<ButtonProps, "children"> & { icon: IconName; label: string }) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      className={cx(BASE, LOOKS[look], small ? "size-7" : "size-8", "pointer-coarse:size-11", className)}
      {...rest}
    >
      <Icon name={icon} size={small ? 14 : 16} />
    </button>
  );
}

/** A link that looks like a button. */
export function ButtonLink({
  look,
  icon,
  small,
  children,
  className,
  ...rest
}: Shared & LinkProps & { className?: string }) {
  return (
    <Link className={cx(buttonClass({ look, small }), className)} {...rest}>
      {icon && <Icon name={icon} size={small ? 14 : 15} />}
      {children}
    </Link>
  );
}
