import type { Ref } from 'preact';

/** The search of the reader. */
export interface Search {
  readonly text: string;
  readonly isRegex: boolean;
  /** Whether to search only in the chosen conversation. */
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
        aria-label="Search masked texts"
        aria-keyshortcuts="/"
        placeholder="Search masked texts"
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
