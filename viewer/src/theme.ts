// Light or dark theme: the system setting, until the user chooses.

export type Theme = "light" | "dark";

const KEY = "mocpack-theme";

export function startTheme(forced: Theme | undefined, changed: (theme: Theme) => void): () => void {
  const system = matchMedia("(prefers-color-scheme: dark)");
  let chosen: Theme | null = forced ?? stored();
  const apply = (): void => {
    const theme = chosen ?? (system.matches ? "dark" : "light");
    document.documentElement.dataset.theme = theme;
    changed(theme);
  };
  system.addEventListener("change", apply);
  apply();
  return () => {
    chosen = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    store(chosen);
    apply();
  };
}

// a page opened from a file may have no storage; the choice then lasts until it is closed
function stored(): Theme | null {
  try {
    const value = localStorage.getItem(KEY);
    return value === "light" || value === "dark" ? value : null;
  } catch {
    return null;
  }
}

function store(theme: Theme): void {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // see above
  }
}
