import type { Ref } from 'preact';

/** What is looked for. */
export interface Search {
  readonly text: string;
  readonly isRegex: boolean;
  /** Only in the conversation that is chosen. */
  readonly isHere: boolean;
}

export const noSearch: Search = { text: '', isRegex: false, isHere: false };

interface SearchFieldProps {
  readonly field: Ref<HTMLInputElement>;
  readonly search: Search;
  readonly onSearch: (search: Search) => void;
}

export function SearchField({ field, search, onSearch }: SearchFieldProps) {
  return (
    <search class="search">
      <input
        ref={field}
        type="search"
        class="field"
        aria-label="Search all that was masked"
        aria-keyshortcuts="/"
        placeholder="Search all that was masked"
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        value={search.text}
        onInput={(event) => onSearch({ ...search, text: event.currentTarget.value })}
      />
      <span class="search-key" aria-hidden="true">
        /
      </span>
    </search>
  );
}
