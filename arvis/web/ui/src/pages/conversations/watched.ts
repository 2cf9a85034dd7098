import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { useLive } from "../../api/live";

/** Reload an open conversation when something happens in its channel. */
export function useWatched(conversation: string): void {
  const { watch, listen } = useLive();
  const client = useQueryClient();
  // biome-ignore lint/correctness/useExhaustiveDependencies: both are new objects at every change of the counters, with the same effect
  useEffect(() => {
    const topic = `conversation:${conversation}`;
    const ends = [
      watch(topic),
      listen((frame) => {
        if (frame.type !== "changed" || frame.topic !== topic) return;
        void client.invalidateQueries({
          predicate: ({ queryKey }) => JSON.stringify(queryKey[2] ?? null).includes(conversation),
        });
      }),
    ];
    return () => {
      for (const end of ends) end();
    };
  }, [conversation, client]);
}
