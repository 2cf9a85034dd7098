import "./styles/tokens.css";
import "./styles/base.css";
import { QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./App";
import { makeQueryClient } from "./api/hooks";
import { applyTheme } from "./frame/theme";
import { AskProvider } from "./parts/dialog";
import { ToastProvider } from "./parts/toast";
import { UnsavedProvider } from "./parts/unsaved";

applyTheme();
const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no root");
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={makeQueryClient()}>
      <ToastProvider>
        <AskProvider>
          <UnsavedProvider>
            <App />
          </UnsavedProvider>
        </AskProvider>
      </ToastProvider>
    </QueryClientProvider>
  </StrictMode>,
);
