// Values that do not fit into a leaf: chains of overflow pages.
//
// Invariants
//   1. A chain has as many pages as its bytes need, or one more (`overflowPageCountMax`), because one page before the
//      last may be not full. A walk ends after so many; before a value is read, `checkLength` makes sure that all pages
//      of the store together could hold it.

extension BTree {
    /// The bytes of the value in the chain that begins at `first`.
    ///
    /// - Throws: `corruption` if the chain does not hold exactly `byteCount` bytes of tree `treeID`.
    package func overflowValue(
        _ first: PageNumber, byteCount: UInt64, treeID: UInt32
    ) throws(StorageError) -> [UInt8] {
        try checkLength(byteCount, of: first, treeID: treeID)
        var value: [UInt8] = []
        value.reserveCapacity(Int(byteCount))
        try forEachOverflowPage(first, byteCount: byteCount, treeID: treeID) { view throws(StorageError) in
            // SAFETY: the page is pinned during this call.
            unsafe value.append(
                contentsOf: UnsafeRawBufferPointer(start: view.overflowPayload.base, count: view.overflowPayload.count))
        }
        assert(value.count == Int(byteCount), "\(value.count) bytes of \(byteCount)")
        return value
    }

    /// Calls `body` with the bytes of a stored value that are in one page, in place, and with the value's byte count.
    ///
    /// - Throws: `corruption` if the value is not in the pages of tree `treeID`. The chain is not read to its end.
    /// - Complexity: at most one page, whatever the length of the value.
    package func withBeginning<R>(
        of value: StoredValue, treeID: UInt32, _ body: (_ beginning: RawSpan, _ byteCount: Int) -> R
    ) throws(StorageError) -> R {
        switch value {
        case .inline(let bytes): return bytes.withSpan { body($0, bytes.count) }
        case .overflow(let first, let byteCount):
            try checkLength(byteCount, of: first, treeID: treeID)
            guard first != 0 else { throw .corrupt(.overflowLength, page: first, tree: treeID) }
            let pin = try source.pin(first)
            guard pin.view.typeByte == PageType.overflow.rawValue else {
                throw .corrupt(.pageType, page: first, tree: treeID)
            }
            guard pin.view.treeID == treeID else { throw .corrupt(.treeOfPage, page: first, tree: treeID) }
            guard UInt64(pin.view.overflowPayload.count) <= byteCount else {
                throw .corrupt(.overflowLength, page: first, tree: treeID)
            }
            return pin.view.overflowPayload.withSpan { body($0, Int(byteCount)) }
        }
    }

    /// Throws `corruption` if a value is longer than all pages of the store together could hold.
    func checkLength(_ byteCount: UInt64, of first: PageNumber, treeID: UInt32) throws(StorageError) {
        let payload = UInt64(StoreGeometry(pageSize: source.pageSize).overflowByteCount)
        assert(payload > 0, "a page holds \(payload) bytes of a value")
        guard byteCount <= UInt64(source.pageCount) * payload else {
            throw .corrupt(.overflowLength, page: first, tree: treeID)
        }
    }

    /// The greatest number of pages of a chain that holds `byteCount` bytes.
    func overflowPageCountMax(_ byteCount: UInt64) -> UInt64 {
        let payload = UInt64(StoreGeometry(pageSize: source.pageSize).overflowByteCount)
        return (byteCount + payload - 1) / payload + 1
    }

    /// Calls `body` with each page of a chain; `body` may free earlier pages of the chain.
    ///
    /// - Throws: `corruption` if the chain does not hold exactly `byteCount` bytes of tree `treeID`.
    package func forEachOverflowPage(
        _ first: PageNumber, byteCount: UInt64, treeID: UInt32, _ body: (PageView) throws(StorageError) -> Void
    ) throws(StorageError) {
        var page = first
        var left = byteCount
        var pagesLeft = overflowPageCountMax(byteCount)
        var runLength = 1
        while left > 0 {
            guard page != 0, pagesLeft > 0 else { throw .corrupt(.overflowLength, page: first, tree: treeID) }
            let pin = try source.pin(page) { Self.pages(after: page, inRunOf: runLength, $0) }
            let view = pin.view
            guard view.typeByte == PageType.overflow.rawValue else {
                throw .corrupt(.pageType, page: page, tree: treeID)
            }
            guard view.treeID == treeID else { throw .corrupt(.treeOfPage, page: page, tree: treeID) }
            let length = UInt64(view.overflowPayload.count)
            guard length <= left else { throw .corrupt(.overflowLength, page: page, tree: treeID) }
            left -= length
            pagesLeft -= 1
            page = view.overflowNext
            runLength = max(view.overflowRunLength - 1, 1)
            if page != 0 { source.prefetch(page) }
            try body(view)
        }
        guard page == 0 else { throw .corrupt(.overflowLength, page: page, tree: treeID) }
    }

    /// The pages after `page` in a chain whose run of consecutive pages has `runLength` left, `page` included.
    static func pages(after page: PageNumber, inRunOf runLength: Int, _ countMax: Int) -> [PageNumber] {
        let count = PageNumber(clamping: min(countMax, runLength - 1, Int(PageNumber.max - page)))
        return count > 0 ? Array(page + 1...page + count) : []
    }

    /// The runs of consecutive pages of a chain, as stored in it; reads only the first and last page of each run.
    ///
    /// - Throws: `corruption` if the chain has more or fewer pages than `byteCount` bytes need.
    /// - Complexity: O(runs).
    func overflowRuns(
        _ first: PageNumber, byteCount: UInt64, treeID: UInt32
    ) throws(StorageError) -> [Range<PageNumber>] {
        try checkLength(byteCount, of: first, treeID: treeID)
        var left = UInt32(clamping: overflowPageCountMax(byteCount))
        var runs: [Range<PageNumber>] = []
        var page = first
        repeat {
            let count = UInt32(truncatingIfNeeded: try overflowLink(page, treeID: treeID).runLength)
            guard page != 0, count > 0, count <= left, page < source.pageCount, count <= source.pageCount - page else {
                throw .corrupt(.overflowLength, page: page, tree: treeID)
            }
            runs.append(page..<page + count)
            left -= count
            assert(runs.count <= source.pageCount, "\(runs.count) runs")
            page = try overflowLink(page + count - 1, treeID: treeID).next
        } while page != 0
        guard left <= 1 else { throw .corrupt(.overflowLength, page: first, tree: treeID) }
        return runs
    }

    private func overflowLink(
        _ page: PageNumber, treeID: UInt32
    ) throws(StorageError) -> (next: PageNumber, runLength: Int) {
        let pin = try source.pin(page)
        guard pin.view.typeByte == PageType.overflow.rawValue else {
            throw .corrupt(.pageType, page: page, tree: treeID)
        }
        guard pin.view.treeID == treeID else { throw .corrupt(.treeOfPage, page: page, tree: treeID) }
        return (pin.view.overflowNext, pin.view.overflowRunLength)
    }
}

extension BTree where Source: WritablePageSource {
    /// Converts `value` to the form that a leaf stores: the bytes themselves, or a chain of overflow pages.
    ///
    /// - Throws: `keyTooLong`, `valueTooLarge`, with nothing changed; what the source throws.
    func storedForm(
        checking key: TreeKey, _ value: ByteString, of record: TreeRecord
    ) throws(StorageError) -> StoredValue {
        let geometry = StoreGeometry(pageSize: source.pageSize)
        let keyByteCount = record.kind == .integer ? 0 : key.bytes.count
        guard keyByteCount <= geometry.keyByteCountMax else {
            throw .argument(
                .keyTooLong(byteCount: UInt32(clamping: keyByteCount), maximum: UInt32(geometry.keyByteCountMax)))
        }
        guard value.count <= StoreGeometry.valueByteCountMax else {
            throw .argument(.valueTooLarge(byteCount: UInt64(value.count)))
        }
        let slot =
            record.kind == .integer ? TreeLayout.integerLeafSlotByteCount : TreeLayout.bytesSlotByteCount
        // The whole key decides, not the suffix that the prefix leaves of it: the prefix may become shorter later.
        let whole = TreeLayout.valueWordByteCount + keyByteCount + value.count + slot
        if whole <= geometry.cellByteCountMax { return .inline(value) }
        return .overflow(first: try writeOverflow(value, of: record), byteCount: UInt64(value.count))
    }

    /// Writes `value` to new pages, which lead to the page `tail`, if there is one; returns the first of them.
    func writeOverflow(
        _ value: ByteString, of record: TreeRecord, before tail: PageNumber = 0
    ) throws(StorageError) -> PageNumber {
        assert(value.count > 0, "a value of no bytes is in a leaf")
        let payload = StoreGeometry(pageSize: source.pageSize).overflowByteCount
        var runs: [(first: PageNumber, count: Int)] = []
        var pagesLeft = (value.count + payload - 1) / payload
        var near = record.root
        while pagesLeft > 0 {
            let run = try source.allocate(near: near, count: pagesLeft)
            assert(run.count > 0 && run.count <= pagesLeft, "\(run.count) of \(pagesLeft) pages")
            runs.append(run)
            pagesLeft -= run.count
            near = run.first + PageNumber(run.count)
        }
        var rest = value
        for (index, run) in runs.enumerated() {
            let after = index + 1 < runs.count ? runs[index + 1].first : tail
            for place in 0..<run.count {
                let page = run.first + PageNumber(place)
                let pin = try source.edit(page)
                let part = rest.prefix(min(payload, rest.count))
                rest = rest.dropping(part.count)
                assert(part.count == payload || rest.count == 0, "a page before the last new one is not full")
                pin.view.formatOverflow(
                    number: page, treeID: record.treeID, next: place + 1 < run.count ? page + 1 : after,
                    runLength: run.count - place, payload: part)
            }
        }
        assert(rest.count == 0 && !runs.isEmpty, "\(rest.count) bytes are not written")
        return runs.first?.first ?? 0
    }

    /// Frees the overflow pages of `value`, if it has any.
    @inline(__always)
    func freeOverflow(of value: StoredValue, treeID: UInt32) throws(StorageError) {
        guard case .overflow(let first, let byteCount) = value else { return }
        try freeOverflow(first, byteCount: byteCount, treeID: treeID)
    }

    private func freeOverflow(
        _ first: PageNumber, byteCount: UInt64, treeID: UInt32
    ) throws(StorageError) {
        // The walk unpins a page before it is freed, so that no pinned page is ever free.
        var previous: PageNumber = 0
        let source = source
        try forEachOverflowPage(first, byteCount: byteCount, treeID: treeID) { view throws(StorageError) in
            if previous != 0 { try source.free(previous) }
            previous = view.storedNumber
        }
        assert(previous != 0 || byteCount == 0, "a chain has no page")
        if previous != 0 { try source.free(previous) }
    }
}
