// Runs the fuzz bodies on seeds, corpus and past crashes, without libFuzzer.

import EspalierCoreData
import EspalierEngine
import Foundation
import FuzzBodies
import TestSupport
import Testing

@Suite struct FuzzCorpusTests {
    private static let folder = Checkout.root.appending(path: "Fuzz")
    private static let names = FuzzBody.all.filter { $0.name != "canary" }.map(\.name)

    private func body(_ name: String) throws -> FuzzBody { try #require(FuzzBody.all.first { $0.name == name }) }

    private func files(_ folder: String, _ name: String) -> [URL] {
        let place = Self.folder.appending(path: folder).appending(path: name)
        return (try? FileManager.default.contentsOfDirectory(at: place, includingPropertiesForKeys: nil)) ?? []
    }

    @Test(arguments: names) func `corpus and past crashes pass`(name: String) throws {
        let body = try body(name)

        for folder in ["Corpus", "Crashes"] {
            for file in files(folder, name) { body.run([UInt8](try Data(contentsOf: file))) }
        }
    }

    @Test(arguments: names) func `seeds pass`(name: String) throws {
        let body = try body(name)
        let seeds = body.seeds()

        #expect(!seeds.isEmpty)
        for seed in seeds.values { body.run(seed) }
    }

    @Test(arguments: ["store-image", "log-image", "both", "sqlite"])
    func `mutation leaves checksums right, so that it reaches behind them`(name: String) throws {
        let body = try body(name)
        let seed = try #require(body.seeds().values.max { $0.count < $1.count })
        var different = 0

        for number in UInt32(0)..<20 {
            let changed = body.mutated(seed, byteCountMax: 1 << 20, seed: number) { part, _ in part.map { $0 ^ 1 } }
            if changed != seed { different += 1 }
            body.run(changed)
        }

        #expect(different > 15)
    }

    @Test func `a changed log of SQLite counts again when its checksums are right again`() throws {
        func rule(_ bytes: [UInt8]) throws -> SQLiteFileError.Rule? {
            let system = MemoryFileSystem()
            let log = Int(bytes[0]) | Int(bytes[1]) << 8
            for (name, part) in [("file", bytes.dropFirst(2).dropLast(log)), ("file-wal", bytes.suffix(log))] {
                let file = try system.open(name, role: .store, mode: .createExclusively)
                // SAFETY: the bytes outlive the call.
                try unsafe part.withUnsafeBytes { try unsafe file.writeFully($0, at: 0) }
            }
            do throws(SQLiteFileError) { _ = try SQLiteDatabase("file", in: system) } catch { return error.rule }
            return nil
        }
        var bytes = try #require(FuzzBody.sqlite.seeds()["empty-log"])
        let repair = try #require(FuzzBody.sqlite.repair)
        #expect(try rule(bytes) == nil)

        // The last frame claims 7 pages.
        bytes[bytes.count - 512 - 24 + 7] = 7
        #expect(try rule(bytes) == nil)
        _ = repair(&bytes)
        #expect(try rule(bytes) == .complete)
    }

    @Test func `random damage above the pages passes`() throws {
        var chance = SeededGenerator(seed: testSeed(default: 6200))

        for _ in 0..<campaignCount("ESPALIER_DERIVED_RUNS", default: 60) {
            let count = 5 * Int.random(in: 1...4, using: &chance)
            FuzzBody.derived.run((0..<count).map { _ in UInt8.random(in: 0...255, using: &chance) })
        }
    }

    @Test func `random damage of SQLite files and stores of Core Data passes`() throws {
        var chance = SeededGenerator(seed: testSeed(default: 6300))
        let inputs = try files("Corpus", "sqlite").sorted { $0.path < $1.path }.map {
            [UInt8](try Data(contentsOf: $0))
        }

        for _ in 0..<campaignCount("ESPALIER_SQLITE_RUNS", default: 60) {
            var bytes = try #require(inputs.randomElement(using: &chance))
            for _ in 0..<Int.random(in: 1...4, using: &chance) {
                // Pages begin with the bytes that matter most.
                let (page, place) = (Int.random(in: 0..<bytes.count, using: &chance) / 512, Bool.random(using: &chance))
                let offset = 2 + page * 512 + Int.random(in: 0..<(place ? 24 : 512), using: &chance)
                guard offset < bytes.count else { continue }
                bytes[offset] = UInt8.random(in: 0...255, using: &chance)
            }
            if Bool.random(using: &chance) {
                // Numbers near the starts of pages and frames change, and the log counts.
                let seed = UInt32.random(in: 0...UInt32.max, using: &chance)
                bytes = FuzzBody.sqlite.mutated(bytes, byteCountMax: 40_960, seed: seed) { part, _ in part }
            }
            FuzzBody.sqlite.run(bytes)
        }
    }

    @Test(arguments: ["model-file", "compiled-model", "mapping-file", "xml-store"])
    func `random damage of files of other makers passes`(name: String) throws {
        let body = try body(name)
        let seeds = body.seeds().sorted { $0.key < $1.key }.map(\.value)
        var chance = SeededGenerator(seed: testSeed(default: 6400))

        for _ in 0..<campaignCount("ESPALIER_FILE_RUNS", default: 40) {
            var bytes = try #require(seeds.randomElement(using: &chance))
            for _ in 0..<Int.random(in: 1...4, using: &chance) {
                let start = Int.random(in: bytes.indices, using: &chance)
                let part = bytes[start..<min(bytes.count, start + Int.random(in: 1...60, using: &chance))]
                switch Int.random(in: 0..<4, using: &chance) {
                case 0: bytes[start] = UInt8.random(in: 0...255, using: &chance)
                case 1: bytes.insert(contentsOf: part, at: Int.random(in: bytes.indices, using: &chance))
                case 2 where part.count < bytes.count: bytes.removeSubrange(part.indices)
                default: bytes[start] ^= 1 << UInt8.random(in: 0..<8, using: &chance)
                }
            }
            body.run(bytes)
        }
    }

    @Test func `the canary fails`() async {
        await #expect(processExitsWith: .failure) {
            FuzzBody.canary.run([0x42, 0x2D, 0x54])
        }
    }
}
