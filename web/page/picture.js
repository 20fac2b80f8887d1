// Small pictures of what a .npy file holds, where that may be greyscale images: float32 of two to four dimensions, the last
// two height and width.

const MOST_SIDE = 256, MOST_IMAGES = 16;

// {sizes, numbers}, or undefined where the file is something else.
function read(buffer) {
  const bytes = new Uint8Array(buffer), view = new DataView(buffer);
  const text = (from, to) => new TextDecoder().decode(bytes.subarray(from, to));
  if (bytes.length < 12 || bytes[0] !== 0x93 || text(1, 6) !== 'NUMPY') return undefined;
  const start = bytes[6] === 1 ? 10 : 12;
  const end = start + (bytes[6] === 1 ? view.getUint16(8, true) : view.getUint32(8, true));
  const header = text(start, end);
  const sizes = header.match(/'shape': \(([\d, ]*)\)/)?.[1].split(',').filter((text) => text.trim() !== '').map(Number);
  if (!sizes || !header.includes("'<f4'") || !header.includes("'fortran_order': False")) return undefined;
  const count = sizes.reduce((product, size) => product * size, 1);
  if (end + 4 * count !== bytes.length) return undefined;
  return {sizes, numbers: new Float32Array(buffer.slice(end))};
}

// Canvases, none where `blob` holds no images.
export async function pictures(blob) {
  if (blob.size > 4 * MOST_SIDE ** 2 * MOST_IMAGES + 65536) return [];
  const array = read(await blob.arrayBuffer()), rank = array?.sizes.length;
  if (!array || rank < 2 || rank > 4 || (rank === 4 && array.sizes[1] !== 1)) return [];
  const [height, width] = array.sizes.slice(-2), most = array.numbers.reduce((a, b) => Math.max(a, b), 0);
  if (height < 2 || width < 2 || height > MOST_SIDE || width > MOST_SIDE) return [];
  const count = Math.min(array.numbers.length / (height * width), MOST_IMAGES);
  return Array.from({length: count}, (_, i) => {
    const canvas = Object.assign(document.createElement('canvas'), {width, height}), context = canvas.getContext('2d');
    const image = context.createImageData(width, height);
    array.numbers.subarray(i * width * height, (i + 1) * width * height).forEach((number, at) => {
      image.data.fill(255 * number / most, 4 * at, 4 * at + 3);
      image.data[4 * at + 3] = 255;
    });
    context.putImageData(image, 0, 0);
    return canvas;
  });
}
