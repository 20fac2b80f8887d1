/* Recognises handwritten digits with libpt2, first one digit, then several at once:
 *
 *   cc -std=c99 digits.c -o digits $(pkg-config --cflags --libs libpt2)
 *   ./digits digits.pt2 digit_5.npy digits_8.npy */
#include <pt2/c/pt2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kPixels = 8 * 8, kClasses = 10, kMaxImages = 64 };
static const pt2_dtype kFloat32 = {2, 32};

/* Reads the float32 images of a .npy file, at most kMaxImages. Returns their number, or 0 if the
 * file cannot be read. */
static int64_t read_images(const char* path, float* pixels) {
  unsigned char head[10];
  size_t read = 0;
  FILE* file = fopen(path, "rb");
  if (file == NULL) return 0;
  if (fread(head, 1, sizeof head, file) == sizeof head && memcmp(head, "\x93NUMPY", 6) == 0 &&
      fseek(file, head[8] + 256L * head[9], SEEK_CUR) == 0)
    read = fread(pixels, sizeof(float), (size_t)kMaxImages * kPixels, file);
  fclose(file);
  return (int64_t)(read / kPixels);
}

static pt2_error* no_images(const char* path) {
  char text[300];
  const int length = snprintf(text, sizeof text, "%.250s: found no images", path);
  return pt2_error_create(PT2_IO, text, (size_t)length);
}

static int largest(const float* scores) {
  int best = 0, i;
  for (i = 1; i < kClasses; ++i)
    if (scores[i] > scores[best]) best = i;
  return best;
}

/* One tensor in, one out, both in the caller's arrays. */
static pt2_error* recognise(pt2_session* session, float* pixels, int64_t images, float* scores) {
  const int64_t input_sizes[] = {images, 1, 8, 8};
  const int64_t output_sizes[] = {images, kClasses};
  const pt2_tensor_view input = {pixels, input_sizes, NULL, 4, kFloat32, 1};
  const pt2_tensor_view output = {scores, output_sizes, NULL, 2, kFloat32, 0};
  return pt2_session_run_views(session, &input, 1, &output, 1, NULL);
}

static pt2_error* recognise_files(pt2_session* session, char** paths, int count) {
  static float pixels[kMaxImages * kPixels], scores[kMaxImages * kClasses];
  int file;
  int64_t i;
  for (file = 0; file < count; ++file) {
    const int64_t images = read_images(paths[file], pixels);
    pt2_error* error =
        images > 0 ? recognise(session, pixels, images, scores) : no_images(paths[file]);
    if (error != NULL) return error;
    printf("%s", images == 1 ? "this is a" : "these are");
    for (i = 0; i < images; ++i) printf(" %d", largest(scores + i * kClasses));
    printf("\n");
  }
  return NULL;
}

int main(int argc, char** argv) {
  pt2_model* model = NULL;
  pt2_session* session = NULL;
  pt2_error* error;
  int failed;
  if (argc < 3) return fprintf(stderr, "usage: digits MODEL.pt2 IMAGES.npy...\n"), 2;
  error = pt2_model_load(argv[1], strlen(argv[1]), NULL, &model);
  if (error == NULL) error = pt2_session_create(model, NULL, &session);
  if (error == NULL) error = recognise_files(session, argv + 2, argc - 2);
  if (error != NULL) fprintf(stderr, "%s\n", pt2_error_text(error, NULL));
  failed = error != NULL;
  pt2_error_free(error);
  pt2_session_free(session);
  pt2_model_free(model);
  return failed;
}
