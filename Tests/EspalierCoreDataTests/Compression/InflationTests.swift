// Decompression gives what was compressed, or an error, within the limit that it is given.

import EspalierCoreData
import Testing
import TestSupport

@Suite struct InflationTests {
    @Test func `stored, fixed and dynamic blocks are decompressed`() throws {
        #expect(try Inflation.inflate([1, 3, 0, 0xFC, 0xFF, 7, 8, 9], byteCountMax: 3) == [7, 8, 9])
        // Nine times the letter a: a literal, and a repetition of it.
        #expect(
            try Inflation.inflate([0x4B, 0x4C, 0x84, 0x02, 0x00], byteCountMax: 9) == [UInt8](repeating: 97, count: 9))
        #expect(try Files.bytes("page-4096.sqlite").count.isMultiple(of: 4096))
    }

    @Test func `more bytes than allowed are refused`() {
        #expect(throws: InflationError.self) {
            _ = try Inflation.inflate([0x4B, 0x4C, 0x84, 0x02, 0x00], byteCountMax: 8)
        }
        #expect(throws: InflationError.self) {
            _ = try Inflation.inflate([1, 3, 0, 0xFC, 0xFF, 7, 8, 9], byteCountMax: 2)
        }
    }

    @Test(arguments: [[], [7], [1, 3, 0, 0, 0], [0x4B], [0x03, 0x02], [1, 3, 0, 0xFC, 0xFF, 7]] as [[UInt8]])
    func `bytes that are not compressed are refused`(bytes: [UInt8]) {
        #expect(throws: InflationError.self) { _ = try Inflation.inflate(bytes, byteCountMax: 1 << 20) }
    }

    @Test func `random bytes give bytes or an error`() {
        var chance = SeededGenerator(seed: testSeed(default: 1703))
        for _ in 0..<3_000 {
            let bytes = (0..<Int.random(in: 0..<60, using: &chance)).map { _ in
                UInt8.random(in: 0...255, using: &chance)
            }
            let output = try? Inflation.inflate(bytes, byteCountMax: 1 << 16)
            #expect((output ?? []).count <= 1 << 16)
        }
    }
}
