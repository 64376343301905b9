// Replays corpus and past crashes through the fuzz bodies, without libFuzzer.

import Foundation
import FuzzBodies
import Testing

@Suite struct FuzzCorpusTests {
    private static let folder = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Fuzz")

    @Test(arguments: FuzzBody.all.filter { $0.name != "canary" }.map(\.name))
    func `corpus and past crashes pass`(name: String) throws {
        let body = try #require(FuzzBody.all.first { $0.name == name })

        for folder in ["Corpus", "Crashes"] {
            let place = Self.folder.appendingPathComponent(folder).appendingPathComponent(name)
            for file in (try? FileManager.default.contentsOfDirectory(at: place, includingPropertiesForKeys: nil)) ?? [] {
                try Data(contentsOf: file).withUnsafeBytes { body.run($0) }
            }
        }
    }

    @Test func `the canary fails`() async {
        await #expect(processExitsWith: .failure) {
            [UInt8]([0x42, 0x2D, 0x54]).withUnsafeBytes { FuzzBody.canary.run($0) }
        }
    }
}
