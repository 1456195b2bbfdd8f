interface ChoiceProps<Value extends string | number> {
  readonly label: string;
  readonly value: Value;
  readonly options: readonly { readonly value: Value; readonly text: string }[];
  readonly onChoose: (value: Value) => void;
}

/** One of several, with its label. */
export function Choice<Value extends string | number>({ label, value, options, onChoose }: ChoiceProps<Value>) {
  const chosen = options.findIndex((option) => option.value === value);
  const choose = (index: number): void => {
    const option = options[index];
    if (option) onChoose(option.value);
  };
  return (
    <label class="choice">
      <span>{label}</span>
      <select
        value={chosen}
        disabled={options.length === 0}
        onChange={(event) => choose(event.currentTarget.selectedIndex)}
      >
        {options.map((option, index) => (
          <option key={option.value} value={index}>
            {option.text}
          </option>
        ))}
      </select>
    </label>
  );
}
