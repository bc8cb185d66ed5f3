/** Fields of forms, each with its label, a hint and what is wrong with it. */

import {
  type InputHTMLAttributes,
  type ReactNode,
  type Ref,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
  useId,
} from "react";
import { cx } from "./cx";

interface Labelled {
  label: string;
  hint?: ReactNode;
  fault?: string | null;
  /** The label is only read aloud. */
  bare?: boolean;
}

function Frame({ id, label, hint, fault, bare, children }: Labelled & { id: string; children: ReactNode }) {
  return (
    <div className="min-w-0">
      <label htmlFor={id} className={bare ? "sr-only" : "mb-1 block text-sm font-medium text-ink-2"}>
        {label}
      </label>
      {children}
      {fault ? (
        <p id={`${id}-fault`} role="alert" className="mt-1 text-xs text-danger">
          {fault}
        </p>
      ) : (
        hint && (
          <p id={`${id}-hint`} className="mt-1 text-xs text-ink-3">
            {hint}
          </p>
        )
      )}
    </div>
  );
}

function described(id: string, { hint, fault }: Labelled) {
  return {
    "aria-invalid": fault ? true : undefined,
    "aria-describedby": fault ? `${id}-fault` : hint ? `${id}-hint` : undefined,
  };
}

type TextProps = Labelled &
  InputHTMLAttributes<HTMLInputElement> & {
    ref?: Ref<HTMLInputElement>;
    /** Completions, offered by the browser as one types. */
    suggestions?: string[];
  };

/** A line of text. */
export function TextField({ label, hint, fault, bare, suggestions, className, ...rest }: TextProps) {
  const id = useId();
  return (
    <Frame id={id} label={label} hint={hint} fault={fault} bare={bare}>
      <input
        id={id}
        type="text"
        autoComplete="off"
        spellCheck={false}
        list={suggestions && `${id}-list`}
        className={cx("field", className)}
        data-first={rest.autoFocus || undefined}
        {...described(id, { label, hint, fault })}
        {...rest}
      />
      {suggestions && (
        <datalist id={`${id}-list`}>
          {suggestions.map((suggestion) => (
            <option key={suggestion} value={suggestion} />
          ))}
        </datalist>
      )}
    </Frame>
  );
}

type SelectProps = Labelled &
  SelectHTMLAttributes<HTMLSelectElement> & { options: [value: string, label: string][] };

/** One of a few. */
export function SelectField({ label, hint, fault, bare, options, className, ...rest }: SelectProps) {
  const id = useId();
  return (
    <Frame id={id} label={label} hint={hint} fault={fault} bare={bare}>
      <select id={id} className={cx("field", className)} {...described(id, { label, hint, fault })} {...rest}>
        {options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </Frame>
  );
}

type AreaProps = Labelled & TextareaHTMLAttributes<HTMLTextAreaElement> & { ref?: Ref<HTMLTextAreaElement> };

/** Lines of text. */
export function AreaField({ label, hint, fault, bare, className, ...rest }: AreaProps) {
  const id = useId();
  return (
    <Frame id={id} label={label} hint={hint} fault={fault} bare={bare}>
      <textarea
        id={id}
        className={cx("field", className)}
        {...described(id, { label, hint, fault })}
        {...rest}
      />
    </Frame>
  );
}

/** Yes or no. */
export function CheckField({
  label,
  hint,
  checked,
  onChange,
}: {
  label: string;
  hint?: string;
  checked: boolean;
  onChange: (checked: boolean) => void;
}) {
  const id = useId();
  return (
    <div className="flex gap-2 pointer-coarse:items-center">
      <span className="pt-0.5 pointer-coarse:pt-0">
        <Checkbox id={id} checked={checked} onChange={onChange} />
      </span>
      <label htmlFor={id} className="min-w-0 text-sm text-ink pointer-coarse:py-2.5">
        {label}
        {hint && <span className="block text-xs text-ink-3">{hint}</span>}
      </label>
    </div>
  );
}

/** The box alone; `mixed` when only some of what it stands for is chosen. */
export function Checkbox({
  id,
  label,
  checked,
  mixed,
  onChange,
}: {
  id?: string;
  label?: string;
  checked: boolean;
  mixed?: boolean;
  onChange: (checked: boolean) => void;
}) {
  return (
    <input
      id={id}
      type="checkbox"
      aria-label={label}
      checked={checked}
      ref={(box) => {
        if (box) box.indeterminate = !checked && !!mixed;
      }}
      onChange={(event) => onChange(event.target.checked)}
      className="block size-4 shrink-0 cursor-pointer accent-accent pointer-coarse:size-5"
    />
  );
}

/** One of two to five, side by side. */
export function Segmented<T extends string>({
  label,
  value,
  options,
  onChange,
}: {
  label: string;
  value: T;
  options: [value: T, label: string][];
  onChange: (value: T) => void;
}) {
  const name = useId();
  return (
    <fieldset className="inline-flex rounded-lg bg-sunken p-0.5 dark:bg-ground">
      <legend className="sr-only">{label}</legend>
      {options.map(([option, text]) => (
        <label
          key={option}
          className={cx(
            "relative inline-flex h-6.5 flex-1 cursor-pointer items-center justify-center whitespace-nowrap rounded-md px-2.5 pointer-coarse:h-10 text-xs font-medium has-focus-visible:outline-2 has-focus-visible:outline-accent",
            option === value ? "bg-surface text-ink shadow-card dark:bg-line" : "text-ink-2 hover:text-ink",
          )}
        >
          <input
            type="radio"
            name={name}
            value={option}
            checked={option === value}
            onChange={() => onChange(option)}
            className="absolute inset-0 cursor-pointer opacity-0"
          />
          {text}
        </label>
      ))}
    </fieldset>
  );
}
