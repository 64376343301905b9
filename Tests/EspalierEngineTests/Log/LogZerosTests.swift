// The zeros that the log writes in advance, and all other bytes that are no frames: no frame is ever overwritten.

import EspalierEngine
import TestSupport
import Testing

@Suite struct LogZerosTests {
    /// Pages without a gap, under different numbers.
    private static func full(_ count: Int) -> [LogBench.Content] {
        (0..<count).map { (page: PageNumber(10 + $0), end: LogBench.pageSize) }
    }

    /// The next commit fits into the last bytes of the segment, or does not.
    @Test(arguments: [100, 408])
    func `zeros begin after the first append of a log, also if it ends just before the end of the segment`(
        end: Int
    ) throws {
        try withStorePath { path in
            let bench = try LogBench(path, segmentByteCount: LogHeaderLayout.segmentByteCountMin)
            try bench.commit(Self.full(116))
            #expect(bench.remaining > 0 && bench.remaining < LogBench.frameByteCountMax, "\(bench.remaining) bytes")

            try bench.commit([(page: 3, end: end)], reserving: 600)
            try bench.check("a page of \(end) bytes")
        }
    }

    @Test(arguments: [100, 408])
    func `zeros begin after the frames that have reached the last bytes of an earlier filling`(end: Int) throws {
        try withStorePath { path in
            let bench = try LogBench(path, segmentByteCount: 128 << 10)
            try bench.commit(Self.full(1))
            // The log writes zeros up to twice the end of these frames: 272 bytes before the end of the segment.
            try bench.commit(Self.full(115), reserving: 64_632)
            #expect(bench.remaining == 65_760, "\(bench.remaining) bytes")
            // These frames end before the zeros do.
            let short: [LogBench.Content] = [(page: 3, end: 152)]
            try bench.commit(Self.full(116) + short)
            #expect(bench.remaining > 272 && bench.remaining < LogBench.frameByteCountMax, "\(bench.remaining) bytes")

            try bench.commit([(page: 3, end: end)], reserving: 600)
            try bench.check("a page of \(end) bytes")
        }
    }

    @Test func `every byte of a log is of a frame, zero or of an older frame, and every commit can be read`() throws {
        let seed = testSeed(default: 0x5E63)
        var random = SeededGenerator(seed: seed)
        for round in 0..<campaignCount("ESPALIER_LOG_ROUNDS", default: 2) {
            try withStorePath { path in
                let length = LogHeaderLayout.segmentByteCountMin + 4096 * Int.random(in: 0...2, using: &random)
                let bench = try LogBench(path, segmentByteCount: length)
                for step in 0..<49 {
                    let place = "seed \(seed), round \(round), segments of \(length) bytes, step \(step)"
                    let first = Int.random(in: 0..<200, using: &random)
                    let contents = (0..<Int.random(in: 1...40, using: &random)).map { number -> LogBench.Content in
                        let end = Int.random(in: PageLayout.headerByteCount...LogBench.pageSize, using: &random)
                        return (page: PageNumber(3 + (first + number) % 200), end: end)
                    }
                    try bench.commit(contents)
                    if step % 7 == 6 { try bench.release(keeping: Int.random(in: 0...5, using: &random), place) }
                }
                try bench.check("seed \(seed), round \(round), segments of \(length) bytes, end")
                #expect(bench.hasReusedSegments, "seed \(seed), round \(round): no segment was used again")
            }
        }
    }
}
