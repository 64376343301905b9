// Reading ahead: a walk that has to read one page gets the neighboring pages that it needs next with the same call.
//
// Invariants
//   1. Only pages whose version for the snapshot is in the store file are read ahead: a page that has a newer version
//      in the log, which a checkpoint may be writing, is not taken from the file.
//   2. Each page is verified before it is shared. One that is damaged or cannot be read is not shared and not reported:
//      the reader that asks for it reads it again, and gets the error.
//   3. One call reads at most 64 pages and claims at most `BufferPool.aheadCountMax` frames, whatever the pages above
//      say.

/// The pages around a wanted one that are read with it.
///
/// Bit 32 stands for the wanted page, the others for its neighbors.
private struct Neighborhood {
    /// The number of pages between two that are read that a call may read in vain; a second call costs more.
    private static let gapMax = 1
    private static let center = 32

    private let page: PageNumber
    private var bits: UInt64 = 1 << center

    init(of page: PageNumber) { self.page = page }

    /// The bit of a page; `nil` if it is too far away.
    func bit(of other: PageNumber) -> Int? {
        let bit = Int(other) - Int(page) + Self.center
        return bit >= 0 && bit < 64 ? bit : nil
    }

    mutating func insert(_ bit: Int) {
        assert(bit >= 0 && bit < 64, "page \(Int(page) + bit - Self.center) is no neighbor of page \(page)")
        bits |= 1 << UInt64(bit)
    }

    /// The pages to be read with one call, in ascending order, the wanted page among them.
    var pages: [PageNumber] {
        let (low, high) = (end(towards: -1), end(towards: 1))
        return (low...high).compactMap { bit in
            bits >> UInt64(bit) & 1 == 1 ? PageNumber(Int(page) + bit - Self.center) : nil
        }
    }

    /// The last page on one side to which no gap is wider than `gapMax`.
    private func end(towards step: Int) -> Int {
        var (end, bit) = (Self.center, Self.center + step)
        while bit >= 0, bit < 64, abs(bit - end) <= Self.gapMax + 1 {
            if bits >> UInt64(bit) & 1 == 1 { end = bit }
            bit += step
        }
        return end
    }
}

extension PageVersions {
    /// Reads `page`, which is not in memory, with those of its neighbors that `ahead` lists, if there are any.
    ///
    /// - Parameter ahead: as for `PageSource.pin(_:ahead:)`.
    func readAhead(from page: PageNumber, _ ahead: (_ countMax: Int) -> [PageNumber]) {
        let pages = ahead(pool.aheadCountMax - 1)
        guard !pages.isEmpty, isStored(page) else { return }
        var neighbors = Neighborhood(of: page)
        for other in pages {
            guard let bit = neighbors.bit(of: other), other != 0, other < state.pageCount, isStored(other),
                !pool.isPresent(other, version: 0)
            else { continue }
            neighbors.insert(bit)
        }
        let run = neighbors.pages
        assert(run.contains(page), "\(run.count) pages are read without page \(page)")
        if run.count > 1 { pool.loadAhead(run) { files.readStorePages($0) } }
    }
}
