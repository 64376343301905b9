// Runs the fuzz bodies on seeds, corpus and past crashes, without libFuzzer.

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

    @Test(arguments: ["store-image", "log-image", "both"])
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

    @Test func `random damage above the pages passes`() throws {
        var chance = SeededGenerator(seed: testSeed(default: 6200))

        for _ in 0..<campaignCount("ESPALIER_DERIVED_RUNS", default: 60) {
            let count = 5 * Int.random(in: 1...4, using: &chance)
            FuzzBody.derived.run((0..<count).map { _ in UInt8.random(in: 0...255, using: &chance) })
        }
    }

    @Test func `the canary fails`() async {
        await #expect(processExitsWith: .failure) {
            FuzzBody.canary.run([0x42, 0x2D, 0x54])
        }
    }
}
