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
            let files = try? FileManager.default.contentsOfDirectory(at: place, includingPropertiesForKeys: nil)
            for file in files ?? [] {
                body.run([UInt8](try Data(contentsOf: file)))
            }
        }
    }

    @Test func `the canary fails`() async {
        await #expect(processExitsWith: .failure) {
            FuzzBody.canary.run([0x42, 0x2D, 0x54])
        }
    }
}
