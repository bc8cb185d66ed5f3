/** The secret that signs deliveries: kept, set anew, or taken away. */

import { useState } from "react";
import { Button, IconButton } from "@/components/button";
import { CopyButton } from "@/components/copy";
import { Segmented, TextField } from "@/components/field";
import { newSecret } from "@/lib/webhooks";

export type SecretPlan = { kind: "keep" } | { kind: "none" } | { kind: "set"; text: string };

export const NO_SECRET: SecretPlan = { kind: "none" };

export function SecretField({
  plan,
  isSet,
  onChange,
}: {
  plan: SecretPlan;
  /** The webhook has one already. */
  isSet: boolean;
  onChange: (plan: SecretPlan) => void;
}) {
  const [isShown, setShown] = useState(false);
  const options: [SecretPlan["kind"], string][] = isSet
    ? [
        ["keep", "Keep it"],
        ["set", "Replace it"],
        ["none", "Remove it"],
      ]
    : [
        ["none", "Do not sign"],
        ["set", "Sign deliveries"],
      ];
  return (
    <fieldset className="min-w-0">
      <legend className="mb-1 font-medium text-ink-2 text-sm">Secret</legend>
      <Segmented
        label="Secret"
        value={plan.kind}
        options={options}
        onChange={(kind) => onChange(kind === "set" ? { kind, text: newSecret() } : { kind })}
      />
      {plan.kind === "set" ? (
        <div className="mt-2 flex items-start gap-1.5">
          <div className="min-w-0 flex-1">
            <TextField
              label="The secret"
              bare
              type={isShown ? "text" : "password"}
              autoComplete="new-password"
              value={plan.text}
              onChange={(event) => onChange({ kind: "set", text: event.target.value })}
              className="font-mono"
              placeholder="A long random text"
              hint={
                plan.text.trim() === ""
                  ? "Type one, or have one generated."
                  : "Copy it now: the server never shows it again."
              }
            />
          </div>
          <IconButton
            icon={isShown ? "lock" : "key"}
            label={isShown ? "Hide the secret" : "Show the secret"}
            disabled={plan.text === ""}
            onClick={() => setShown(!isShown)}
          />
          {plan.text !== "" && <CopyButton text={plan.text} label="Copy the secret" small={false} />}
          <Button
            onClick={() => {
              onChange({ kind: "set", text: newSecret() });
              setShown(true);
            }}
          >
            Generate
          </Button>
        </div>
      ) : (
        <p className="mt-1 text-ink-3 text-xs">
          {plan.kind === "keep"
            ? "Deliveries go on being signed with the secret that is set."
            : "Receivers cannot tell whether a call comes from this server."}
        </p>
      )}
    </fieldset>
  );
}
