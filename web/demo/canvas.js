// A canvas with a caption among the pictures of a demo page.
export function canvas(title, width, height) {
  const figure = document.createElement("figure"),
    it = document.createElement("canvas"),
    text = document.createElement("figcaption");
  it.width = width;
  it.height = height;
  text.textContent = title;
  figure.append(it, text);
  document.getElementById("pictures").append(figure);
  return it.getContext("2d");
}
