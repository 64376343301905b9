// Damaged structures: a change of any byte is noticed, nothing traps, and the error names the broken rule.

import EspalierEngine
import TestSupport
import Testing

@Suite struct FormatDamageTests {
    private let storeSeed: UInt64 = 77

    /// Sealed pages of every type, from a tree with overflow pages.
    private func samplePages(_ kind: KeyKind) throws -> [(number: PageNumber, page: [UInt8])] {
        let oracle = try TreeOracle(kind)
        var random = SeededGenerator(seed: 5)
        for step in 0..<60 {
            let key: TestKey =
                kind == .integer ? .integer(random.next()) : .bytes([UInt8]("person/\(step * 7919 % 60)".utf8))
            try oracle.insert(key, [UInt8](repeating: 1, count: step % 20 == 0 ? 900 : step % 7 * 6))
        }
        return (2..<oracle.pages.pageCount).map { number in
            let view = oracle.pages.page(number)
            view.seal(lsn: 9, storeSeed: storeSeed)
            return (number, view.bytes(0, view.byteCount).array)
        }
    }

    /// Copies `bytes` into a page with its own memory and calls `body` with the page.
    private func withPage<R>(_ bytes: [UInt8], _ body: (PageView) throws -> R) rethrows -> R {
        let page = ScratchPage(byteCount: bytes.count)
        for (offset, byte) in bytes.enumerated() { page.view.set(byte, at: offset) }
        return try body(page.view)
    }

    private func rule(_ error: any Error) -> CorruptionRule? {
        guard case .corruption(let corruption) = error as? StorageError else { return nil }
        return corruption.rule
    }

    @Test(arguments: KeyKind.allCases)
    func `every changed byte of a page is noticed by its checksum`(_ kind: KeyKind) throws {
        for (number, page) in try samplePages(kind).prefix(6) {
            try withPage(page) { view in
                try PageValidation.verify(view, number: number, storeSeed: storeSeed, depth: .sealed)
                for offset in 0..<page.count {
                    view.set(page[offset] ^ 1 << UInt8(offset % 8), at: offset)
                    #expect(throws: StorageError.corrupt(.pageChecksum, page: number)) {
                        try PageValidation.verify(view, number: number, storeSeed: storeSeed)
                    }
                    view.set(page[offset], at: offset)
                }
                #expect(throws: StorageError.corrupt(.pageChecksum, page: number + 1)) {
                    try PageValidation.verify(view, number: number + 1, storeSeed: storeSeed)
                }
            }
        }
    }

    @Test(arguments: KeyKind.allCases)
    func `with a right checksum no changed byte traps, and accepted pages can be used`(_ kind: KeyKind) throws {
        var found: Set<CorruptionRule> = []
        for (number, page) in try samplePages(kind) {
            try withPage(page) { view in
                for offset in 8..<page.count {
                    for value in [page[offset] ^ 1, page[offset] ^ 0x80, 0, 0xFF, page[offset] &+ 7] {
                        view.set(value, at: offset)
                        do {
                            try PageValidation.validate(view, number: number, depth: .thorough)
                            use(view)
                        } catch {
                            found.insert(try #require(rule(error)))
                        }
                    }
                    view.set(page[offset], at: offset)
                }
            }
        }
        let expected: Set<CorruptionRule> =
            kind == .integer
            ? [.pageNumber, .pageType, .levelOfType, .slotsOverCells, .fenceLength, .cellOffset, .cellLength]
            : [.prefixLength, .keyHead, .keyOrder, .cellAccounting, .fenceOrder, .keyOutsideFences]
        #expect(expected.subtracting(found) == [])
    }

    /// Reads and changes an accepted page as the tree does.
    private func use(_ view: PageView) {
        guard let type = PageType(rawValue: view.typeByte) else { return }
        switch type {
        case .leafBytes, .leafInteger, .interiorBytes, .interiorInteger:
            let key = OwnedKey([UInt8]("person/33".utf8))
            _ = view.position(of: view.hasIntegerKeys ? TreeKey(5) : key.key)
            _ = view.usedByteCount
            let copy = ScratchPage(byteCount: view.byteCount)
            copy.view.copy(from: view, at: 0, to: 0, count: view.byteCount)
            if type != .interiorInteger { copy.view.pack() }
            if view.cellCount > 0 { copy.view.removeCells(0..<1) }
        case .overflow: _ = view.overflowPayload.array
        case .bitmap: _ = view.bitmapPopulationCount
        case .free: break
        }
    }

    @Test func `overlapping cells are found by the thorough check`() throws {
        let pages = ArrayPages()
        let tree = BTree(pages)
        var record = try tree.createTree(2, kind: .integer, rootTag: 0, transaction: 1)
        let value = OwnedKey([1, 2, 3, 4])
        for key in 1...3 { _ = try tree.insert(TreeKey(UInt64(key)), value.key.bytes, into: &record) }
        let view = pages.page(record.root)

        // Two slots refer to the same cell, and the sum of the lengths stays right.
        view.set(view.u16(48 + 24), at: 48 + 24 + 2)

        try PageValidation.validate(view, number: record.root)
        #expect(
            throws: StorageError.corruption(
                Corruption(
                    page: record.root, treeID: 2, byteOffset: UInt32(view.cellOffset(1)), rule: .cellOverlap,
                    file: .store))
        ) {
            try PageValidation.validate(view, number: record.root, depth: .thorough)
        }
    }

    @Test func `every changed byte of a superblock, a slot and a log structure is refused`() throws {
        let superblock = Superblock(
            pageSize: 4096, storeIdentifier: [UInt8](0..<16), hashSeed: 1, creationTime: 2)
        let slot = CheckpointSlot(
            sequence: 1, checkpointLSN: 2, transactionID: 3, pageCount: 10, freeCount: 1, catalogRoot: 2,
            isClean: false, logIdentifier: [UInt8](0..<16), logStartSegment: 1, chainSeed: 4, nextTreeID: 5)
        let log = LogHeader(
            pageSize: 4096, storeIdentifier: [UInt8](0..<16), logIdentifier: [UInt8](0..<16),
            segmentByteCount: 65536)
        let segment = SegmentHeader(
            index: 0, sequence: 1, startLSN: 2, salt: 3, previousChain: 4, seedEcho: 5)

        // SAFETY: the span is of an array that outlives it; `bytes` only drops the type of its elements.
        forEachChange(of: superblock.encoded()) { #expect(unsafe (try? Superblock(decoding: $0.span.bytes)) == nil) }
        forEachChange(of: slot.encoded()) { #expect(unsafe CheckpointSlot(decoding: $0.span.bytes, at: 0) == nil) }
        forEachChange(of: [UInt8](log.encoded().prefix(512))) {
            #expect(unsafe LogHeader(decoding: $0.span.bytes) == nil)
        }
        forEachChange(of: segment.encoded()) { #expect(unsafe SegmentHeader(decoding: $0.span.bytes) == nil) }
    }

    private func forEachChange(of bytes: [UInt8], _ body: ([UInt8]) -> Void) {
        var changed = bytes
        for offset in 0..<bytes.count {
            changed[offset] ^= 1 << UInt8(offset % 8)
            body(changed)
            changed[offset] = bytes[offset]
        }
    }

    @Test func `a superblock says why it cannot be opened`() throws {
        let bytes = Superblock(
            pageSize: 4096, storeIdentifier: [UInt8](0..<16), hashSeed: 1, creationTime: 2
        ).encoded()
        func error(_ change: (inout RecordBytes) -> Void) -> StorageError? {
            var record = RecordBytes(byteCount: 512)
            record.store(bytes, at: 0)
            change(&record)
            record.seal(at: 504)
            do throws(StorageError) {
                // SAFETY: the span is of an array that outlives it; `bytes` only drops the type of its elements.
                _ = try unsafe Superblock(decoding: record.bytes.span.bytes)
                return nil
            } catch { return error }
        }

        #expect(error { _ in } == nil)
        #expect(error { $0.store(UInt8(0x0A), at: 8) } == .opening(.notAStore(.textMangled)))
        #expect(error { $0.store(UInt8(0), at: 0) } == .opening(.notAStore(.wrongMagic)))
        #expect(
            error { $0.store(UInt16(2), at: 16) } == .opening(.unsupportedFormat(found: 0x2_0000, supported: 0x1_0000)))
        #expect(error { $0.store(UInt64(1) << 40, at: 24) } == .opening(.unsupportedFeatures(1 << 40)))
        #expect(error { $0.store(UInt32(4095), at: 20) } == .corrupt(.superblockField, page: 0, byteOffset: 20))
        #expect(error { $0.store(UInt32(512), at: 20) } == .corrupt(.superblockField, page: 0, byteOffset: 20))
        #expect(error { $0.store(UInt8(1), at: 300) } == .corrupt(.superblockField, page: 0, byteOffset: 120))
        #expect(throws: StorageError.opening(.notAStore(.tooShort))) {
            // SAFETY: the span is of an array that outlives it; `bytes` only drops the type of its elements.
            try unsafe Superblock(decoding: [UInt8](bytes.prefix(511)).span.bytes)
        }
        #expect(throws: StorageError.opening(.notAStore(.empty))) {
            // SAFETY: the span is of an array that outlives it; `bytes` only drops the type of its elements.
            try unsafe Superblock(decoding: [UInt8]().span.bytes)
        }
    }

    @Test func `the newest valid slot counts, and none is reported`() throws {
        var page = [UInt8](repeating: 0, count: 4096)
        func slot(_ sequence: UInt64) -> CheckpointSlot {
            CheckpointSlot(
                sequence: sequence, checkpointLSN: 2, transactionID: 3, pageCount: 10, freeCount: 1, catalogRoot: 2,
                isClean: false, logIdentifier: [UInt8](0..<16), logStartSegment: 1, chainSeed: 4, nextTreeID: 5)
        }
        #expect(throws: StorageError.corrupt(.noValidSlot, page: 0, byteOffset: 512)) {
            // SAFETY: the span is of an array that outlives it; `bytes` only drops the type of its elements.
            try unsafe CheckpointSlot.newest(in: page.span.bytes)
        }
        for sequence: UInt64 in [6, 7] {
            let slot = slot(sequence)
            page.replaceSubrange(slot.byteOffset..<slot.byteOffset + 512, with: slot.encoded())
        }
        // SAFETY: the span is of an array that outlives it; `bytes` only drops the type of its elements.
        #expect(try unsafe CheckpointSlot.newest(in: page.span.bytes).sequence == 7)

        page[slot(7).byteOffset + 100] ^= 1

        #expect(try unsafe CheckpointSlot.newest(in: page.span.bytes).sequence == 6)
    }
}
