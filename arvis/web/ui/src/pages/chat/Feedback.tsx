import { ThumbsDown, ThumbsUp } from "lucide-react";
import { useState } from "react";
import { useSend } from "../../api/hooks";
import { useSession } from "../../api/session";
import { IconButton } from "../../parts/button";
import type { Rating, Ratings } from "./entries";
import styles from "./log.module.css";
import { texts } from "./texts";

/** Two buttons with which the user rates an answer; a second press removes the rating. */
export function Feedback({ reply, ratings }: { reply: string; ratings: Ratings }) {
  const me = useSession().me.userId;
  const stored = ratings.find((each) => each.platform === "web" && each.userId === me)?.rating ?? null;
  const [rating, setRating] = useState<Rating | null>(stored);
  const rate = useSend("PUT /api/messages/{message}/feedback");
  const remove = useSend("DELETE /api/messages/{message}/feedback");
  const busy = rate.isPending || remove.isPending;

  const press = (wanted: Rating) => {
    const before = rating;
    const undo = { onError: () => setRating(before) };
    const path = { message: reply };
    setRating(before === wanted ? null : wanted);
    if (before === wanted) remove.mutate({ path }, undo);
    else rate.mutate({ path, body: { rating: wanted } }, undo);
  };

  return (
    <span className={styles.feedback} role="group" aria-label={texts.rating}>
      <IconButton
        label={texts.good}
        icon={ThumbsUp}
        aria-pressed={rating === "up"}
        disabled={busy}
        onClick={() => press("up")}
      />
      <IconButton
        label={texts.bad}
        icon={ThumbsDown}
        aria-pressed={rating === "down"}
        disabled={busy}
        onClick={() => press("down")}
      />
    </span>
  );
}
