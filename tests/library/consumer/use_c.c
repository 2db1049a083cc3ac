// The header is C, and what it promises of versions holds.
#include <mocpack/mocpack.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
	char named[32];
	mocpack_Motion* motion;
	mocpack_Error error;
	snprintf(named, sizeof named, "%d.%d.%d", MOCPACK_VERSION_MAJOR, MOCPACK_VERSION_MINOR,
			 MOCPACK_VERSION_PATCH);
	if (strcmp(named, mocpack_version()))
		return 1;
	if (mocpack_open("RIFF", 4, NULL, &motion, &error) != MOCPACK_NOT_MOCPACK || motion)
		return 2;
	mocpack_close(motion);
	printf("%s %s\n", mocpack_status_name(error.status), error.message);
	return 0;
}
