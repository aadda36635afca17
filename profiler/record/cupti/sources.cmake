# The sources of libforeshard_cupti.so, which tests link to a CUPTI of their own too.
set(FORESHARD_CUPTI_SOURCES cupti_recorder.cpp decode.cpp)
list(TRANSFORM FORESHARD_CUPTI_SOURCES PREPEND ${PROJECT_SOURCE_DIR}/profiler/record/cupti/)
