# shellcheck shell=bash disable=SC2034,SC2054
# What the packaging scripts share: the version, times that do not change from build to build, and how a target is built.
# Sourced, never run. Sets `root`, `version`, `dist`, SOURCE_DATE_EPOCH and RUSTFLAGS; writes nothing.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
dist=${DIST:-$root/dist}
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' "$root/Cargo.toml")
host=$(rustc -vV 2>/dev/null | sed -n 's/^host: //p')
targets=${CARGO_TARGET_DIR:-$root/target}
# CARGO may be a wrapper of more than one word.
read -r -a cargo <<<"${CARGO:-cargo}"

# The time of the commit; every file of a package has it, and nothing says when or where it was built.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct 2>/dev/null || stat -c %Y "$root/CHANGELOG.md")}
export SOURCE_DATE_EPOCH
registry=${CARGO_HOME:-$HOME/.cargo}
sysroot=$(rustc --print sysroot 2>/dev/null || true)
nightly=$(RUSTUP_TOOLCHAIN=nightly rustc --print sysroot 2>/dev/null || true)
[ "$nightly" != "$sysroot" ] || nightly=
toolchain=
export RUSTFLAGS="${RUSTFLAGS:-} --remap-path-prefix=$root=wireproof --remap-path-prefix=$registry=cargo --remap-path-prefix=$sysroot=rust"
export CFLAGS="${CFLAGS:-} -ffile-prefix-map=$root=wireproof -ffile-prefix-map=$registry=cargo"
export LC_ALL=C TZ=UTC
umask 022

say() { printf '%s\n' "$*" >&2; }
die() { say "packaging: $*"; exit 1; }

# The source of the standard library, where a toolchain has it.
has_source() { [ -f "$1/lib/rustlib/src/rust/library/Cargo.lock" ]; }

# How there is a standard library of a target: `installed`, `source` (built from this toolchain's rust-src), `nightly` (from
# that of the toolchain of this name, where this one builds none), or nothing.
standard_library() {
  if [ -d "$sysroot/lib/rustlib/$1/lib" ]; then
    echo installed
  elif has_source "$sysroot" && { rustc -V | grep nightly >/dev/null || [ -n "${RUSTC_BOOTSTRAP:-}" ]; }; then
    echo source
  elif [ -n "$nightly" ] && has_source "$nightly"; then
    echo nightly
  fi
}

# A command of the toolchain that `builder` chose, in the tree.
with_toolchain() {
  if [ -n "$toolchain" ]; then
    (cd "$root" && RUSTUP_TOOLCHAIN=$toolchain RUSTFLAGS=${RUSTFLAGS//"$sysroot=rust"/"$nightly=rust"} "$@" </dev/null)
  else
    (cd "$root" && "$@" </dev/null)
  fi
}

# Sets `build`, `check`, `rustc`, `toolchain` and `link`, by which a target is built and checked, or says in one line what to
# install and fails. `link` holds what rustc needs for the last step.
builder() {
  local target=$1
  toolchain=
  link=()
  build=("${cargo[@]}" build)
  check=("${cargo[@]}" check)
  rustc=("${cargo[@]}" rustc)
  case $target in
    "$host") return 0 ;;
    *-linux-musl)
      if cargo-zigbuild --version >/dev/null 2>&1; then
        build=("${cargo[@]}" zigbuild)
        rustc=(cargo-zigbuild rustc)
      elif [ "$target" != "${host%-gnu}-musl" ] || ! command -v musl-gcc >/dev/null; then
        say "$target: no C compiler for it: pip install ziglang cargo-zigbuild"
        return 1
      fi
      ;;
    *-apple-darwin)
      if cargo-zigbuild --version >/dev/null 2>&1; then
        check=(cargo-zigbuild check)
      elif [ "$(uname -s)" != Darwin ]; then
        say "$target: no C compiler for it: pip install ziglang cargo-zigbuild"
        return 1
      fi
      ;;
  esac
  case $(standard_library "$target") in
    installed) ;;
    source | nightly)
      [ "$(standard_library "$target")" != nightly ] || toolchain=nightly
      say "$target: its standard library is not installed, and is built from rust-src"
      build+=(-Zbuild-std=std,panic_abort)
      check+=(-Zbuild-std=std,panic_abort)
      rustc+=(-Zbuild-std=std,panic_abort)
      # musl's start files come with the installed library only: the linker has its own.
      [ "${target%-musl}" = "$target" ] || link=(-C link-self-contained=no)
      ;;
    *)
      say "$target: its standard library is not installed: rustup target add $target"
      return 1
      ;;
  esac
}

# Gives a tree the one time and plain rights, so that the same content is the same archive.
settle() {
  find "$1" -type d -exec chmod 755 {} +
  find "$1" -type f ! -perm -u+x -exec chmod 644 {} +
  find "$1" -type f -perm -u+x -exec chmod 755 {} +
  find "$1" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
}

# Manual pages, completions, documents and examples, made by a binary that runs here.
shared_files() {
  local runs=$1 to=$2
  mkdir -p "$to"/{man,completions,examples,doc}
  "$runs" man --out "$to/man"
  "$runs" completions bash >"$to/completions/wireproof.bash"
  "$runs" completions zsh >"$to/completions/_wireproof"
  "$runs" completions fish >"$to/completions/wireproof.fish"
  cp "$root"/packaging/examples/* "$to/examples/"
  cp "$root"/README.md "$root"/CHANGELOG.md "$to/doc/"
  cp -r "$root/docs" "$to/doc/docs"
  third_party >"$to/doc/THIRD-PARTY"
}

# Every crate that is linked in, with its licence.
third_party() {
  printf 'Crates that are part of wireproof and of its libraries, and their licences.\n\n'
  (cd "$root" && "${cargo[@]}" tree --locked --workspace --exclude xtask -e normal --prefix none --format '{p} ({l})') |
    sed -E 's/ \(\*\)//; /^wireproof/d; /^$/d; s/ \(proc-macro\)//' | sort -u
}
