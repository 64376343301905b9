// Counts the allocations, retains and releases of the running program.
//
// Counting functions replace malloc and its relatives in the whole program: `--defsym` in the manifest redirects their
// names to the functions here. Objects, retains and releases are counted through the hooks that the Swift runtime has
// for instruments.
//
// Invariants
//   1. Counting itself neither allocates nor retains: plain globals with constant initial values, one thread.

import Glibc

/// The counts since the last reset.
struct Counts {
    var allocations = 0
    var objects = 0
    var retains = 0
    var releases = 0
}

// SAFETY: the program has one thread.
/// The counts of the whole program.
nonisolated(unsafe) var counts = Counts()

// MARK: Memory

@_silgen_name("__libc_malloc") private func plainMalloc(_ size: Int) -> UnsafeMutableRawPointer?
@_silgen_name("__libc_calloc") private func plainCalloc(_ count: Int, _ size: Int) -> UnsafeMutableRawPointer?
@_silgen_name("__libc_realloc")
private func plainRealloc(_ old: UnsafeMutableRawPointer?, _ size: Int) -> UnsafeMutableRawPointer?
@_silgen_name("__libc_memalign") private func plainMemalign(_ alignment: Int, _ size: Int) -> UnsafeMutableRawPointer?

/// `malloc`, counted.
@_cdecl("counted_malloc") public func countedMalloc(_ size: Int) -> UnsafeMutableRawPointer? {
    counts.allocations &+= 1
    return plainMalloc(size)
}

/// `calloc`, counted.
@_cdecl("counted_calloc") public func countedCalloc(_ count: Int, _ size: Int) -> UnsafeMutableRawPointer? {
    counts.allocations &+= 1
    return plainCalloc(count, size)
}

/// `realloc`, counted.
@_cdecl("counted_realloc")
public func countedRealloc(_ old: UnsafeMutableRawPointer?, _ size: Int) -> UnsafeMutableRawPointer? {
    counts.allocations &+= 1
    return plainRealloc(old, size)
}

/// `aligned_alloc`, counted.
@_cdecl("counted_aligned_alloc") public func countedAlignedAlloc(_ alignment: Int, _ size: Int)
    -> UnsafeMutableRawPointer?
{
    counts.allocations &+= 1
    return plainMemalign(alignment, size)
}

/// `posix_memalign`, counted.
@_cdecl("counted_posix_memalign")
public func countedPosixMemalign(
    _ result: UnsafeMutablePointer<UnsafeMutableRawPointer?>, _ alignment: Int, _ size: Int
) -> Int32 {
    counts.allocations &+= 1
    result.pointee = plainMemalign(alignment, size)
    return result.pointee == nil ? ENOMEM : 0
}

// MARK: Objects

private typealias Allocate = @convention(c) (UnsafeRawPointer?, Int, Int) -> UnsafeMutableRawPointer?
private typealias Retain = @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer?
private typealias Release = @convention(c) (UnsafeMutableRawPointer?) -> Void

// SAFETY: set and called by the program's one thread.
// The runtime's own functions, which the counting ones call.
nonisolated(unsafe) private var plainAllocate: Allocate?
nonisolated(unsafe) private var plainRetain: Retain?
nonisolated(unsafe) private var plainRelease: Release?

private let countedAllocate: Allocate = { metadata, size, mask in
    counts.objects &+= 1
    return plainAllocate.unsafelyUnwrapped(metadata, size, mask)
}
private let countedRetain: Retain = { object in
    counts.retains &+= 1
    return plainRetain.unsafelyUnwrapped(object)
}
private let countedRelease: Release = { object in
    counts.releases &+= 1
    plainRelease.unsafelyUnwrapped(object)
}

/// Runs `body` while the runtime's hooks point to the counting functions; returns the counts, or `nil` if this runtime
/// has no hooks.
///
/// The hooks are set only for this time, because they cannot handle strings of up to 15 bytes, whose bytes are in the
/// reference.
func counting<E: Error>(_ body: () throws(E) -> Void) throws(E) -> Counts? {
    let names = [
        "_swift_allocObject", "_swift_retain", "_swift_release",
        "_swift_enableSwizzlingOfAllocationAndRefCountingFunctions_forInstrumentsOnly",
    ]
    let places = names.compactMap { dlsym(nil, $0) }
    guard places.count == names.count else { return nil }
    let allocate = places[0].assumingMemoryBound(to: Allocate.self)
    let retain = places[1].assumingMemoryBound(to: Retain.self)
    let release = places[2].assumingMemoryBound(to: Release.self)
    let isHooked = places[3].assumingMemoryBound(to: Bool.self)
    (plainAllocate, plainRetain, plainRelease) = (allocate.pointee, retain.pointee, release.pointee)
    (allocate.pointee, retain.pointee, release.pointee) = (countedAllocate, countedRetain, countedRelease)
    isHooked.pointee = true
    counts = Counts()
    defer {
        isHooked.pointee = false
        (allocate.pointee, retain.pointee, release.pointee) = (
            plainAllocate.unsafelyUnwrapped, plainRetain.unsafelyUnwrapped, plainRelease.unsafelyUnwrapped
        )
    }
    try body()
    return counts
}
