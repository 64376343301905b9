// Real model files, changed at random: each becomes a model or a typed error, and a file that is read can be written.

import EspalierModel
import EspalierModelFile
import Foundation
import TestSupport
import Testing

@Suite struct ModelMutationTests {
    @Test func `changed files are models or errors that say where, and never trap`() throws {
        let files = try RealModels.paths.map { try RealModels.bytes($0) } + [Data(EveryWord.xml.utf8)]
        let seed = testSeed(default: 2026)
        let count = UInt64(campaignCount("ESPALIER_MODEL_MUTATIONS", default: 3_000))
        var models = 0
        var kinds: Set<String> = []
        for number in 0..<count {
            var random = SeededGenerator(seed: seed &+ number)
            var bytes = Array(files.randomElement(using: &random) ?? Data())
            for _ in 0..<Int.random(in: 1...3, using: &random) { mutate(&bytes, &random) }
            do throws(ModelFileError) {
                let document = try ModelDocument(xml: Data(bytes))
                let again = try ModelDocument(xml: try document.xml())
                #expect(again == document, "seed \(seed &+ number)")
                let model = try ManagedObjectModel(document, ignoring: Set(ModelFeature.allCases))
                // A version may have an empty name, and no default is lost: a document can express every model that a
                // file contained.
                let made = try ManagedObjectModel(try ModelDocument(model))
                #expect(made.descriptions == model.descriptions, "seed \(seed &+ number)")
                models += 1
            } catch {
                #expect(!error.problems.isEmpty, "seed \(seed &+ number)")
                for problem in error.problems {
                    #expect(problem.line != nil || problem.element != nil, "seed \(seed &+ number): \(error)")
                    kinds.insert("\(problem.kind)")
                }
            }
        }

        // The mutations have a wide effect: some files stay models, and others break in every way that one file can.
        #expect(models > count / 20)
        if count >= 3_000 {
            for kind in ["malformedXML", "unknownElement", "missingAttribute", "invalidValue", "invalidModel"] {
                #expect(kinds.contains(kind))
            }
        }
    }

    @Test func `changed lists of versions name a version or are refused`() throws {
        let seed = testSeed(default: 2027)
        let path = "objcio+core-data/Moody.xcdatamodeld"
        let list = Array(try Data(contentsOf: RealModels.url(path).appending(path: ".xccurrentversion")))
        try withTemporaryFolder { folder in
            let copy = folder.appending(path: "Moody.xcdatamodeld")
            try FileManager.default.copyItem(at: RealModels.url(path), to: copy)
            for number in 0..<UInt64(300) {
                var random = SeededGenerator(seed: seed &+ number)
                var bytes = list
                mutate(&bytes, &random)
                try Data(bytes).write(to: copy.appending(path: ".xccurrentversion"))
                do throws(ModelFileError) {
                    let versions = try ModelVersions(contentsOf: copy)
                    #expect(versions.names.contains(versions.currentName), "seed \(seed &+ number)")
                } catch {
                    #expect(!error.problems.isEmpty, "seed \(seed &+ number)")
                }
            }
        }
    }

    /// Flips, cuts, doubles and exchanges bytes, lines and values.
    private func mutate(_ bytes: inout [UInt8], _ random: inout SeededGenerator) {
        guard !bytes.isEmpty else { return }
        switch Int.random(in: 0..<8, using: &random) {
        case 0:
            bytes[Int.random(in: bytes.indices, using: &random)] ^= UInt8(1 << Int.random(in: 0..<8, using: &random))
        case 1: bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
        case 2: bytes.removeSubrange(range(in: bytes, &random))
        case 3:
            bytes.insert(
                contentsOf: bytes[range(in: bytes, &random)], at: Int.random(in: bytes.indices, using: &random))
        case 4, 5:
            // A line is an element or the end of one.
            var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            let (first, second) = (
                Int.random(in: lines.indices, using: &random), Int.random(in: lines.indices, using: &random)
            )
            if Bool.random(using: &random) { lines.swapAt(first, second) } else { lines.remove(at: first) }
            bytes = Array(lines.joined(separator: [UInt8(ascii: "\n")]))
        default:
            // The values are between quotes.
            var parts = bytes.split(separator: UInt8(ascii: "\""), omittingEmptySubsequences: false)
            let (first, second) = (
                Int.random(in: parts.indices, using: &random), Int.random(in: parts.indices, using: &random)
            )
            if Bool.random(using: &random) { parts.swapAt(first, second) } else { parts[first] = parts[second] }
            bytes = Array(parts.joined(separator: [UInt8(ascii: "\"")]))
        }
    }

    private func range(in bytes: [UInt8], _ random: inout SeededGenerator) -> Range<Int> {
        let start = Int.random(in: bytes.indices, using: &random)
        return start..<min(bytes.count, start + Int.random(in: 1...200, using: &random))
    }
}
