// The foldings of single scalars, in pages of 256 that are made when a text needs them.
//
// Invariants
//   1. An entry is the result of `TextFolding.foldedByScalars` for the scalar alone. A page is immutable after it is
//      published.
//   2. A scalar begins a piece if it is a starter, its folding begins with a starter, and neither is in second place of
//      a canonical composition. A text can be split before it: the parts fold to the same bytes alone and together.
//   3. Scalars from Unicode versions newer than the list of starters in second place begin no piece: folding such text
//      takes longer, and the result is correct.
//   4. All pages without a changed scalar, mostly ideographs and syllables, share one page, and so do all pages of
//      unassigned scalars. All other pages of Unicode use less than 1 MiB per table.

import Synchronization
// The standard library exposes its NFD normalization only under this SPI name.
@_spi(_Unicode) import Swift

/// The foldings of scalars, for one combination of options.
@safe
final class FoldingTable: Sendable {
    private static let caseTable = FoldingTable(ignoresCase: true, ignoresMarks: false)
    private static let markTable = FoldingTable(ignoresCase: false, ignoresMarks: true)
    private static let caseAndMarkTable = FoldingTable(ignoresCase: true, ignoresMarks: true)

    /// The shared table for a combination of options; its pages are made on demand.
    static func of(ignoresCase: Bool, ignoresMarks: Bool) -> FoldingTable {
        ignoresCase ? (ignoresMarks ? caseAndMarkTable : caseTable) : markTable
    }

    let ignoresCase: Bool
    let ignoresMarks: Bool
    /// The cache of folded pairs.
    let pairs = FoldingPairs()
    // SAFETY: one element per page of 256 scalars, read and written as atomics only. Tables and pages are never
    // deallocated.
    nonisolated(unsafe) private let pages: UnsafeMutablePointer<Atomic<Page?>>

    private typealias Page = UnsafePointer<FoldingEntry>
    private static let pageCount = 0x11_0000 >> 8
    // SAFETY: these two pages are initialized once and are immutable.
    nonisolated(unsafe) private static let unchangedPage = unsafe makePage(
        Array(repeating: FoldingEntry.unchanged, count: 256))
    nonisolated(unsafe) private static let unknownPage = unsafe makePage(
        Array(repeating: FoldingEntry.unknown, count: 256))

    private init(ignoresCase: Bool, ignoresMarks: Bool) {
        (self.ignoresCase, self.ignoresMarks) = (ignoresCase, ignoresMarks)
        unsafe pages = .allocate(capacity: Self.pageCount)
        // SAFETY: the capacity is `pageCount`.
        for number in 0..<Self.pageCount { unsafe (pages + number).initialize(to: Atomic(nil)) }
    }

    /// The folding of a scalar.
    @inline(__always)
    func entry(_ value: UInt32) -> FoldingEntry {
        let (number, index) = (Int(value >> 8), Int(value & 0xFF))
        // SAFETY: scalars are below 0x110000, and a page has 256 entries.
        if let page = unsafe pages[number].load(ordering: .acquiring) { return unsafe page[index] }
        return unsafe page(number)[index]
    }

    /// Makes and publishes a page.
    @inline(never)
    private func page(_ number: Int) -> Page {
        let entries = (0..<256).map { entry(of: Unicode.Scalar(UInt32(number << 8 | $0))) }
        // SAFETY: pages are never deallocated.
        let made =
            if entries.allSatisfy({ $0 == .unchanged }) {
                unsafe Self.unchangedPage
            } else if entries.allSatisfy({ $0 == .unknown }) {
                // SAFETY: pages are never deallocated.
                unsafe Self.unknownPage
            } else {
                // SAFETY: pages are never deallocated.
                unsafe Self.makePage(entries)
            }
        // SAFETY: the number is below the count. If two threads make a page at the same time, one of the two remains;
        // both have equal content.
        unsafe pages[number].store(made, ordering: .releasing)
        return unsafe made
    }

    private static func makePage(_ entries: [FoldingEntry]) -> Page {
        let page = UnsafeMutablePointer<FoldingEntry>.allocate(capacity: entries.count)
        // SAFETY: the capacity is `entries.count`.
        for (index, entry) in entries.enumerated() { unsafe (page + index).initialize(to: entry) }
        return unsafe Page(page)
    }

    private func entry(of scalar: Unicode.Scalar?) -> FoldingEntry {
        guard let scalar, scalar.properties.age != nil else { return .unknown }
        let folded = TextFolding.foldedByScalars(
            String(scalar), ignoresCase: ignoresCase, ignoresMarks: ignoresMarks)
        let beginsPiece = Self.isStarter(scalar) && folded.unicodeScalars.first.map(Self.isStarter) == true
        if beginsPiece, scalar.value > 0x2000, folded.unicodeScalars.elementsEqual([scalar]) { return .unchanged }
        return FoldingEntry(
            folded.utf8, beginsPiece: beginsPiece, isLeftOut: ignoresMarks && TextFolding.isDiacritic(scalar))
    }

    /// Whether preceding text cannot affect the scalar: it does not compose or reorder with the first scalar of the
    /// decomposition.
    private static func isStarter(_ scalar: Unicode.Scalar) -> Bool {
        guard let age = scalar.properties.age, (age.major, age.minor) <= secondPlacesVersion else { return false }
        for first in String(scalar)._nfd {
            return first.properties.canonicalCombiningClass == .notReordered
                && !secondPlaces.contains { $0.contains(first.value) }
        }
        return false
    }

    /// The version of Unicode from which `secondPlaces` was made.
    private static let secondPlacesVersion = (17, 0)
    /// Starters that a canonical composition can have after its first place: vowel signs, and the jamo that end a
    /// syllable.
    private static let secondPlaces: [ClosedRange<UInt32>] = [
        0x9BE...0x9BE, 0x9D7...0x9D7, 0xB3E...0xB3E, 0xB56...0xB57, 0xBBE...0xBBE, 0xBD7...0xBD7, 0xCC2...0xCC2,
        0xCD5...0xCD6, 0xD3E...0xD3E, 0xD57...0xD57, 0xDCF...0xDCF, 0xDDF...0xDDF, 0xFB5...0xFB5, 0xFB7...0xFB7,
        0x102E...0x102E, 0x1161...0x1175, 0x11A8...0x11C2, 0x1B35...0x1B35, 0x11127...0x11127, 0x1133E...0x1133E,
        0x11357...0x11357, 0x113B8...0x113B8, 0x113BB...0x113BB, 0x113C2...0x113C2, 0x113C9...0x113C9,
        0x114B0...0x114B0, 0x114BA...0x114BA, 0x114BD...0x114BD, 0x115AF...0x115AF, 0x11930...0x11930,
        0x1611E...0x16120, 0x16129...0x16129, 0x16D67...0x16D67,
    ]
}

/// The UTF-8 bytes of a scalar's folding, the first byte lowest; their count; and flags.
struct FoldingEntry: Equatable {
    private let bits: UInt64

    private static let unchangedBit: UInt64 = 1 << 63
    private static let wholeBit: UInt64 = 1 << 62
    private static let beginsBit: UInt64 = 1 << 61
    private static let leftOutBit: UInt64 = 1 << 60

    private init(bits: UInt64) { self.bits = bits }

    init(_ utf8: some BidirectionalCollection<UInt8>, beginsPiece: Bool, isLeftOut: Bool) {
        var bits = (beginsPiece ? Self.beginsBit : 0) | (isLeftOut ? Self.leftOutBit : 0)
        if utf8.count <= 7 {
            bits |= utf8.reversed().reduce(0) { $0 << 8 | UInt64($1) } | UInt64(utf8.count) << 56 | Self.wholeBit
        }
        self.bits = bits
    }

    /// The entry of a scalar that folds to itself and begins a piece.
    static let unchanged = FoldingEntry(bits: unchangedBit | beginsBit)
    /// The entry of a scalar that must be folded by `TextFolding.foldedByScalars`.
    static let unknown = FoldingEntry(bits: 0)

    /// Whether the scalar folds to itself; the entry then has no `bytes`.
    @inline(__always) var isUnchanged: Bool { bits & Self.unchangedBit != 0 }
    /// Whether the entry has `bytes`.
    @inline(__always) var isWhole: Bool { bits & Self.wholeBit != 0 }
    /// Whether a text can be split before the scalar.
    @inline(__always) var beginsPiece: Bool { bits & Self.beginsBit != 0 }
    /// Whether the scalar is a mark that folding removes.
    @inline(__always) var isLeftOut: Bool { bits & Self.leftOutBit != 0 }
    /// The number of bytes.
    @inline(__always) var count: Int { Int(truncatingIfNeeded: bits >> 56 & 7) }
    /// The bytes, the first one lowest; the bits after them have no meaning.
    @inline(__always) var bytes: UInt64 { bits }
    /// The bytes.
    var utf8: [UInt8] { (0..<UInt64(count)).map { UInt8(truncatingIfNeeded: bits >> (8 * $0)) } }
}
