/** Send a made-up event now, and show what came of it. */

import { useEffect, useState } from "react";
import { Badge } from "@/components/badge";
import { Button } from "@/components/button";
import { Dialog, openDialog } from "@/components/dialog";
import { Note, Skeleton } from "@/components/feedback";
import { messageOf } from "@/lib/api";
import { api } from "@/lib/endpoints";
import { refresh } from "@/lib/queries";
import type { TrialAnswer, WebhookView } from "@/lib/records";
import { formatDuration } from "@/lib/time";

type Trial = { answer: TrialAnswer } | { fault: string } | null;

export function openTrial(webhook: WebhookView): void {
  openDialog((close) => <TrialDialog webhook={webhook} close={close} />);
}

function TrialDialog({ webhook, close }: { webhook: WebhookView; close: () => void }) {
  const [trial, setTrial] = useState<Trial>(null);
  const [round, setRound] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: every round is another call
  useEffect(() => {
    let isCurrent = true;
    setTrial(null);
    api
      .testWebhook(webhook.id)
      .then((answer): Trial => ({ answer }))
      .catch((error): Trial => ({ fault: messageOf(error) }))
      .then((told) => {
        if (!isCurrent) return;
        setTrial(told);
        void refresh("webhooks", "deliveries");
      });
    return () => {
      isCurrent = false;
    };
  }, [webhook.id, round]);
  return (
    <Dialog
      title="Test the webhook"
      width="medium"
      close={close}
      footer={
        <>
          <Button icon="send" disabled={trial === null} onClick={() => setRound(round + 1)}>
            Send again
          </Button>
          <Button look="primary" onClick={close}>
            Close
          </Button>
        </>
      }
    >
      <div className="flex min-h-36 flex-col gap-3 text-sm" aria-live="polite" aria-busy={trial === null}>
        <p className="text-ink-2">
          An event of the type <code className="font-mono text-ink text-xs">test</code> was sent to{" "}
          <b className="break-all font-semibold text-ink">{webhook.url}</b>.
        </p>
        {trial === null ? (
          <>
            <Skeleton className="w-48" />
            <Skeleton className="h-16 w-full" />
          </>
        ) : "fault" in trial ? (
          <Note tone="danger">{trial.fault}</Note>
        ) : (
          <Told answer={trial.answer} />
        )}
      </div>
    </Dialog>
  );
}

function Told({ answer }: { answer: TrialAnswer }) {
  const isGood = answer.status === "delivered";
  return (
    <>
      <p className="flex flex-wrap items-center gap-2">
        <Badge tone={isGood ? "good" : "danger"}>{answer.status}</Badge>
        {answer.status_code > 0 && <span className="font-medium">HTTP {answer.status_code}</span>}
        <span className="text-ink-3">after {formatDuration(answer.duration_ms)}</span>
      </p>
      {answer.error && <Note tone="danger">{answer.error}</Note>}
      {answer.answer && (
        <div>
          <p className="mb-1 font-medium text-ink-3 text-xs">What was answered</p>
          <pre className="max-h-48 overflow-auto whitespace-pre-wrap break-words rounded-lg border border-line bg-sunken px-3 py-2 font-mono text-xs leading-5">
            {answer.answer}
          </pre>
        </div>
      )}
    </>
  );
}
