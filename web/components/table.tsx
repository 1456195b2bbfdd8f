import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';

export interface Column<Row> {
  readonly title: string;
  /** An explanation of the title. */
  readonly hint?: string;
  readonly isNumber?: boolean;
  readonly cell: (row: Row) => ComponentChildren;
  /** With it, a click on the title sorts. */
  readonly sortBy?: (row: Row) => number | string | undefined;
}

interface TableProps<Row> {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string | number;
  readonly isChosen?: (row: Row) => boolean;
  readonly onChoose?: (row: Row) => void;
  /** The number of rows before the reader asks for more. */
  readonly atFirst?: number;
}

interface Order {
  readonly column: number;
  readonly direction: 'ascending' | 'descending';
}

/** A table that scrolls inside its place. Its first column names the row. */
export function Table<Row>({ label, columns, rows, keyOf, isChosen, onChoose, atFirst = 200 }: TableProps<Row>) {
  const [order, setOrder] = useState<Order>();
  const [shown, setShown] = useState(atFirst);
  const sorted = order ? sort(rows, columns[order.column], order.direction) : rows;
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard */}
      <section class="scroll" aria-label={label} tabIndex={0}>
        <table class={onChoose ? 'pickable' : undefined}>
          <thead>
            <tr>
              {columns.map((column, index) => (
                <th
                  key={column.title}
                  scope="col"
                  class={column.isNumber ? 'number' : undefined}
                  title={column.hint}
                  aria-sort={order?.column === index ? order.direction : undefined}
                >
                  {column.sortBy ? (
                    <button type="button" onClick={() => setOrder(nextOrder(order, index, column))}>
                      {column.title}
                    </button>
                  ) : (
                    column.title
                  )}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {sorted.slice(0, shown).map((row) => (
              <tr
                key={keyOf(row)}
                aria-current={isChosen?.(row) ? 'true' : undefined}
                onClick={onChoose && (() => onChoose(row))}
              >
                {columns.map((column, index) => cellOf({ column, row, isHead: index === 0 }))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {sorted.length > shown && (
        <button type="button" class="more" onClick={() => setShown(sorted.length)}>
          Show all {sorted.length}
        </button>
      )}
    </>
  );
}

function cellOf<Row>({ column, row, isHead }: { column: Column<Row>; row: Row; isHead: boolean }) {
  const Cell = isHead ? 'th' : 'td';
  return (
    <Cell key={column.title} {...(isHead ? { scope: 'row' } : {})} class={column.isNumber ? 'number' : undefined}>
      {column.cell(row)}
    </Cell>
  );
}

/** A first click shows the largest numbers, or the names from A. */
function nextOrder<Row>(order: Order | undefined, column: number, { isNumber }: Column<Row>): Order {
  if (order?.column === column) {
    return { column, direction: order.direction === 'ascending' ? 'descending' : 'ascending' };
  }
  return { column, direction: isNumber ? 'descending' : 'ascending' };
}

function sort<Row>(rows: readonly Row[], column: Column<Row> | undefined, direction: Order['direction']) {
  const sortBy = column?.sortBy;
  if (!sortBy) return rows;
  const sign = direction === 'ascending' ? 1 : -1;
  return [...rows].sort((a, b) => compare(sortBy(a), sortBy(b), sign));
}

/** Rows without a value come last in either order. */
function compare(a: number | string | undefined, b: number | string | undefined, sign: number): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
  if (typeof a === 'string' || typeof b === 'string') return sign * String(a).localeCompare(String(b));
  return sign * (a - b);
}
