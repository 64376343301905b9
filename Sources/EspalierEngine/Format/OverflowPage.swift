// Overflow pages: a chain of them stores the whole of a value that is too large for a leaf.
//
// Invariants
//   1. All pages of a chain but the last and one other are full; `contentStart` says where the value's bytes end in a
//      page.
//   2. `runLength` counts the pages from this one on that are consecutive both in the chain and in the file (>= 1).
//   3. `next` is 0 exactly in the last page; if `runLength` > 1, `next` is this page's number + 1.

/// Offsets of the fields of an overflow page.
package enum OverflowLayout {
    package static let next = 32  // u32
    package static let runLength = 36  // u32
    package static let payload = 40
}

extension PageView {
    /// The next overflow page of the chain, 0 if this is the last.
    package var overflowNext: PageNumber { u32(OverflowLayout.next) }
    /// The number of pages of the chain, from this one on, that are consecutive in the file.
    package var overflowRunLength: Int { Int(u32(OverflowLayout.runLength)) }
    /// The part of the value that this page holds.
    package var overflowPayload: ByteString {
        bytes(OverflowLayout.payload, contentStart &- OverflowLayout.payload)
    }

    /// Formats this as an overflow page that holds `payload`.
    package func formatOverflow(
        number: PageNumber, treeID: UInt32, next: PageNumber, runLength: Int, payload: ByteString
    ) {
        assert(OverflowLayout.payload + payload.count <= byteCount, "\(payload.count) bytes in \(byteCount)")
        formatHeader(number: number, type: .overflow, level: 0, treeID: treeID)
        setContentStart(OverflowLayout.payload + payload.count)
        set(next, at: OverflowLayout.next)
        set(UInt32(truncatingIfNeeded: runLength), at: OverflowLayout.runLength)
        copy(payload, to: OverflowLayout.payload)
        clear(OverflowLayout.payload + payload.count..<byteCount)
    }
}
