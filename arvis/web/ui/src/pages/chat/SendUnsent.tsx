import { useChats } from "./chats";

/** Send messages that an earlier page of this browser could not send; their conversations are opened in the background. */
export default function SendUnsent() {
  useChats();
  return null;
}
