# SPDX-License-Identifier: Apache-2.0
#
# Writes OUTPUT, a C++ file with the text of every world of WORLDS in it.
set(source "#include \"testbed/worlds/builtin.h\"\n\nnamespace tranche::testbed::sim {\n\n")
string(APPEND source "std::vector<BuiltinText> builtin_texts() {\n  return {\n")
foreach(world IN LISTS WORLDS)
  file(READ ${FOLDER}/${world}.yaml text)
  string(APPEND source "      {\"${world}\", R\"yaml(${text})yaml\"},\n")
endforeach()
string(APPEND source "  };\n}\n\n}  // namespace tranche::testbed::sim\n")
file(WRITE ${OUTPUT} "${source}")
