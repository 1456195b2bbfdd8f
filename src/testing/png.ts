/** A black image of 400 × 300 pixels, in base64: 160 tokens by the formula of Anthropic. */
export const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAZAAAAEsAQAAAADFzNhvAAAAJklEQVR42u3BMQEAAADCoPVPbQlPoAAAAAAAAAAAAAAAAAAAgKcBO8QAAfyeO9sAAAAASUVORK5CYII=';
