import { useChats } from "./chats";

/** Sends what an earlier page of this browser could not send; it opens those conversations in the background. */
export default function SendUnsent() {
  useChats();
  return null;
}
