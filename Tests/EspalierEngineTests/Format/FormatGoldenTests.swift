// The bytes of every structure of the format, written down by hand from the format document. Checksums were computed
// with the reference implementation of XXH3-64, not with ours. If one of these tests fails, old files can no longer
// be read: the code is wrong, not the test.

import EspalierEngine
import Testing

/// One field of a structure: its offset, its bytes in hexadecimal, and their meaning.
///
/// All other bytes are zero.
private typealias Field = (offset: Int, hex: String, meaning: String)

/// The seed of the store that the golden pages belong to.
private let storeSeed: UInt64 = 0x0123_4567_89AB_CDEF

private func bytes(_ byteCount: Int, _ fields: [Field]) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: byteCount)
    for field in fields {
        let digits = field.hex.filter { $0 != " " }
        for index in 0..<digits.count / 2 {
            let start = digits.index(digits.startIndex, offsetBy: 2 * index)
            let pair = digits[start..<digits.index(start, offsetBy: 2)]
            bytes[field.offset + index] = UInt8(pair, radix: 16) ?? 0
        }
    }
    return bytes
}

/// Builds a page with `body` in memory and returns its bytes.
private func page(_ byteCount: Int, lsn: UInt64, _ body: (PageView) throws -> Void) rethrows -> [UInt8] {
    let page = ScratchPage(byteCount: byteCount)
    // The bytes that the page had before must not remain.
    for offset in 0..<byteCount { page.view.set(UInt8(0xCC), at: offset) }
    try body(page.view)
    page.view.seal(lsn: lsn, storeSeed: storeSeed)
    return page.view.bytes(0, byteCount).array
}

/// Expects equal bytes; reports the first offset at which they differ.
private func expectEqual(_ found: [UInt8], _ expected: [UInt8]) {
    #expect(found.count == expected.count)
    for offset in 0..<min(found.count, expected.count) where found[offset] != expected[offset] {
        Issue.record("byte \(offset) is \(found[offset]), not \(expected[offset])")
        return
    }
}

@Suite struct FormatGoldenTests {
    @Test func `a leaf of bytes keys`() throws {
        let expected = bytes(
            512,
            [
                (0, "857E1968 693BEF3A", "checksum, seeded with storeSeed ^ 5 x 0x9E3779B185EBCA87"),
                (8, "05000000", "page 5"),
                (12, "02", "type: leaf of bytes keys"),
                (13, "00 00 00", "flags, level, reserved"),
                (16, "2211000000000000", "LSN 0x1122"),
                (24, "07000000", "tree 7"),
                (28, "0200", "2 cells"),
                (30, "EB01", "cells begin at 491"),
                (32, "0000", "no fragments"),
                (34, "0100", "prefix of 1 byte: 'a', which both fences begin with"),
                (36, "00000000", "no right child"),
                (40, "0200 0200", "both fences have 2 bytes"),
                (44, "00000000", "not a root"),
                (48, "F301 0400 656C7070", "slot 0: cell at 499, 4 bytes of key, head 'pple' big-endian"),
                (56, "EB01 0600 63697270", "slot 1: cell at 491, 6 bytes of key, head 'pric'"),
                (491, "0000 707269636F74", "cell 1: empty value, 'pricot'"),
                (499, "0300 70706C65 010203", "cell 0: 3 bytes of value, 'pple', 1 2 3"),
                (508, "6170", "low fence 'ap'"),
                (510, "6174", "high fence 'at'"),
            ])

        let found = try page(512, lsn: 0x1122) { view in
            let low = OwnedKey([UInt8]("ap".utf8))
            let high = OwnedKey([UInt8]("at".utf8))
            let apple = OwnedKey([UInt8]("apple".utf8))
            let apricot = OwnedKey([UInt8]("apricot".utf8))
            let value = OwnedKey([1, 2, 3])
            let empty = OwnedKey([])
            let identity = TreePageIdentity(number: 5, treeID: 7, level: 0, isInteger: false)
            var builder = TreePageBuilder(view, identity, count: 2, low: low.key, high: high.key)
            try builder.append(apple.key, .inline(value.key.bytes))
            try builder.append(apricot.key, .inline(empty.key.bytes))
            builder.finish()
            try PageValidation.validate(view, number: 5, depth: .thorough)
            #expect(view.keyArray(1) == [UInt8]("apricot".utf8))
        }

        expectEqual(found, expected)
    }

    @Test func `an interior page of integer keys`() throws {
        let expected = bytes(
            512,
            [
                (0, "37B66484 A46B940F", "checksum"),
                (8, "09000000", "page 9"),
                (12, "04", "type: interior page of integer keys"),
                (14, "01", "level 1"),
                (16, "0100000000000000", "LSN 1"),
                (24, "03000000", "tree 3"),
                (28, "0200", "2 separators"),
                (30, "F001", "no cells: 496"),
                (36, "0E000000", "right child: page 14"),
                (40, "0800 0000", "a low fence, no high fence"),
                (48, "6400000000000000 C800000000000000", "keys 100 and 200"),
                (64, "0C000000 0D000000", "children of keys below 100 and below 200: pages 12 and 13"),
                (496, "0A00000000000000", "low fence 10"),
                (504, "0000000000000000", "no high fence"),
            ])

        let found = try page(512, lsn: 1) { view in
            let identity = TreePageIdentity(number: 9, treeID: 3, level: 1, isInteger: true)
            var builder = TreePageBuilder(
                view, identity, count: 2, low: TreeKey(10), high: nil, rightChild: 14)
            try builder.append(TreeKey(100), leftChild: 12)
            try builder.append(TreeKey(200), leftChild: 13)
            builder.finish()
            try PageValidation.validate(view, number: 9, depth: .thorough)
        }

        expectEqual(found, expected)
    }

    @Test func `an overflow page`() throws {
        let expected = bytes(
            512,
            [
                (0, "19878EE0 FAE2AA17", "checksum"),
                (8, "0B000000", "page 11"),
                (12, "05", "type: overflow"),
                (24, "03000000", "tree 3"),
                (30, "2C00", "the value ends at byte 44"),
                (32, "00000000", "no next page"),
                (36, "01000000", "run length 1"),
                (40, "DEADBEEF", "the value"),
            ])

        let found = try page(512, lsn: 0) { view in
            let value = OwnedKey([0xDE, 0xAD, 0xBE, 0xEF])
            view.formatOverflow(number: 11, treeID: 3, next: 0, runLength: 1, payload: value.key.bytes)
            try PageValidation.validate(view, number: 11, depth: .thorough)
        }

        expectEqual(found, expected)
    }

    @Test func `a bitmap page`() throws {
        let expected = bytes(
            4096,
            [
                (0, "4970F8C3 112FC4D5", "checksum"),
                (8, "01000000", "page 1"),
                (12, "06", "type: bitmap"),
                (32, "02000000", "2 free pages"),
                (36, "05000000", "none below page 5"),
                (64, "60", "pages 5 and 6 are free"),
            ])

        let found = try page(4096, lsn: 0) { view in
            view.formatBitmap(number: 1)
            view.setBitmap(5, isFree: true)
            view.setBitmap(6, isFree: true)
            view.setBitmap(freeCount: 2, hint: 5)
            try PageValidation.validate(view, number: 1, depth: .thorough)
        }

        expectEqual(found, expected)
    }

    @Test func `the superblock`() throws {
        let expected = bytes(
            512,
            [
                (0, "45535041 4C494552 0D0A1A0A FF00A901", "magic: ESPALIER, line ends, mark of a store"),
                (16, "0100 0000", "version 1.0"),
                (20, "00100000", "pages of 4,096 bytes"),
                (24, "", "no feature bits (three words)"),
                (48, "00010203 04050607 08090A0B 0C0D0E0F", "store identifier"),
                (64, "EFCDAB89 67452301", "hash seed"),
                (72, "0000F323 845BD718", "made at 1,790,000,000 s after 1970"),
                (80, "65737061 6C696572 2031", "creator 'espalier 1'"),
                (112, "4B4E4843 03000000", "application 0x43484E4B, version 3"),
                (504, "59204816 174B2ED9", "XXH3-64 of bytes 0..<504"),
            ])
        let superblock = Superblock(
            pageSize: 4096, storeIdentifier: [UInt8](0..<16), hashSeed: storeSeed,
            creationTime: 1_790_000_000_000_000_000, applicationID: 0x4348_4E4B, applicationVersion: 3)

        expectEqual(superblock.encoded(), expected)
        // SAFETY: the span is of an array that outlives it; `bytes` only drops the type of its elements.
        #expect(try unsafe Superblock(decoding: expected.span.bytes) == superblock)
    }

    @Test func `a checkpoint slot`() throws {
        let expected = bytes(
            512,
            [
                (0, "0800000000000000", "sequence 8: the third slot"),
                (8, "8813000000000000", "checkpoint LSN 5,000"),
                (16, "0C00000000000000", "transaction 12"),
                (24, "28000000 03000000", "40 pages, 3 free"),
                (32, "02000000", "catalog root: page 2"),
                (36, "01000000", "closed cleanly"),
                (40, "10111213 14151617 18191A1B 1C1D1E1F", "log identifier"),
                (56, "1100000000000000", "first segment: 17"),
                (64, "7700000000000000", "chain value"),
                (72, "09000000", "next tree: 9"),
                (504, "F0965C78 568E09B3", "XXH3-64 of bytes 0..<504"),
            ])
        let slot = CheckpointSlot(
            sequence: 8, checkpointLSN: 5000, transactionID: 12, pageCount: 40, freeCount: 3, catalogRoot: 2,
            isClean: true, logIdentifier: [UInt8](16..<32), logStartSegment: 17, chainSeed: 0x77, nextTreeID: 9)

        expectEqual(slot.encoded(), expected)
        // SAFETY: the span is of an array that outlives it; `bytes` only drops the type of its elements.
        #expect(unsafe CheckpointSlot(decoding: expected.span.bytes, at: 0) == slot)
        #expect(slot.byteOffset == 1536)
    }

    @Test func `the headers of the log and of a segment`() throws {
        let header = LogHeader(
            pageSize: 4096, storeIdentifier: [UInt8](0..<16), logIdentifier: [UInt8](16..<32),
            segmentByteCount: 1 << 22)
        let expectedHeader = bytes(
            4096,
            [
                (0, "45535041 4C494552 0D0A1A0A FF00A902", "magic: the same, mark of a log"),
                (16, "0100 0000", "version 1.0"),
                (20, "00100000", "page size"),
                (24, "00010203 04050607 08090A0B 0C0D0E0F", "store identifier"),
                (40, "10111213 14151617 18191A1B 1C1D1E1F", "log identifier"),
                (56, "00004000", "segments of 4 MiB"),
                (504, "13409860 01E61EDC", "XXH3-64 of bytes 0..<504"),
            ])
        let segment = SegmentHeader(
            index: 3, sequence: 17, startLSN: 65536, salt: 0x5A5A, previousChain: 0x77, seedEcho: storeSeed)
        let expectedSegment = bytes(
            64,
            [
                (0, "45534547", "ESEG"), (4, "03000000", "index"), (8, "1100000000000000", "sequence"),
                (16, "0000010000000000", "start LSN"), (24, "5A5A000000000000", "salt"),
                (32, "7700000000000000", "chain before"), (40, "EFCDAB8967452301", "the store's hash seed"),
                (56, "C8BF38EC 2121DF11", "XXH3-64 of bytes 0..<56"),
            ])

        expectEqual(header.encoded(), expectedHeader)
        // SAFETY: the span is of an array that outlives it; `bytes` only drops the type of its elements.
        #expect(unsafe LogHeader(decoding: expectedHeader.span.bytes) == header)
        expectEqual(segment.encoded(), expectedSegment)
        #expect(unsafe SegmentHeader(decoding: expectedSegment.span.bytes) == segment)
    }

    @Test func `a commit frame`() throws {
        let expected = bytes(
            144,
            [
                (0, "02 00 3000", "type commit, no flags, header of 48 bytes"),
                (4, "00000000 60000000", "no page, payload of 96 bytes"),
                (12, "0000 0000", "no hole"),
                (16, "F812000000000000", "LSN 4,856"),
                (24, "5A5A000000000000", "salt of the segment"),
                (32, "52CE9F1A CA0A0995", "XXH3-64 of the payload, seeded with the salt"),
                (40, "328308C8 48D61D39", "chain: XXH3-64 of bytes 0..<40, seeded with 0x77"),
                (48, "0C00000000000000", "transaction 12"),
                (56, "8813000000000000", "commit LSN 5,000"),
                (64, "A00F000000000000", "durable LSN 4,000"),
                (72, "28000000 03000000 02000000 02000000", "40 pages, 3 free, catalog root 2, 2 page frames"),
                (88, "0000F323 845BD718", "wall clock"),
                (96, "CDAB000000000000", "user tag"),
                (104, "00000000 09000000", "flags, next tree 9"),
            ])
        let record = CommitRecord(
            transactionID: 12, commitLSN: 5000, durableLSN: 4000, pageCount: 40, freeCount: 3, catalogRoot: 2,
            frameCount: 2, wallClock: 1_790_000_000_000_000_000, userTag: 0xABCD, nextTreeID: 9)
        let memory = ScratchPage(byteCount: 144)

        let checksum = record.encode(to: memory.view, at: 48, salt: 0x5A5A)
        var header = FrameHeader(
            type: .commit, page: 0, payloadByteCount: 96, lsn: 4856, salt: 0x5A5A, payloadChecksum: checksum)
        header.encode(to: memory.view, previousChain: 0x77)

        expectEqual(memory.view.bytes(0, 144).array, expected)
        // SAFETY: the span is of an array that outlives it; `bytes` only drops the type of its elements.
        let span = unsafe expected.span.bytes
        #expect(FrameHeader(decoding: span, pageSize: 4096) == header)
        #expect(FrameHeader.chain(of: span, after: 0x77) == header.chain)
        #expect(CommitRecord(decoding: span.extracting(48..<144)) == record)
    }
}
