/** A point in time in the reader's time zone, with the day if it is not today. */
export function Moment({ time }: { readonly time: string }) {
  const date = new Date(time);
  const isToday = date.toDateString() === new Date().toDateString();
  const options = isToday
    ? ({ timeStyle: 'medium', hourCycle: 'h23' } as const)
    : ({ dateStyle: 'medium', timeStyle: 'short', hourCycle: 'h23' } as const);
  return (
    <time dateTime={time} title={date.toLocaleString()}>
      {date.toLocaleString(undefined, options)}
    </time>
  );
}
