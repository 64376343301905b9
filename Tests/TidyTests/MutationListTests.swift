// The list of mutations (`Tests/Mutations/run`) matches the sources: each old text has one place, and each test exists.

import Testing
import TestSupport

@Suite struct MutationListTests {
    /// A name that no source has.
    private static let freshName = "renamedByTheTest"
    /// Words that a source cannot rename, although they look like names.
    private static let keywords: Set = [
        "Self", "any", "as", "async", "await", "break", "case", "catch", "class", "continue", "default", "defer", "do",
        "else", "enum", "extension", "false", "fileprivate", "final", "for", "func", "guard", "if", "import", "in",
        "init", "inout", "internal", "is", "let", "mutating", "nil", "override", "package", "private", "public",
        "repeat", "return", "self", "some", "static", "struct", "switch", "throw", "throws", "true", "try", "unowned",
        "var", "weak", "where", "while", "_",
    ]

    private func list() throws -> [Mutation] {
        Mutation.all(in: try #require(Repository.current.text(of: "Tests/Mutations/list")))
    }

    @Test func `the list is long, and each of its names stands for one mutation`() throws {
        let mutations = try list()

        #expect(mutations.count >= 100)
        #expect(Set(mutations.map(\.name)).count == mutations.count)
        for mutation in mutations {
            #expect(!mutation.reason.isEmpty, "\(mutation.name)")
            #expect(mutation.patch.old != mutation.patch.new, "\(mutation.name)")
        }
    }

    @Test func `each mutation has one place in its file, also where the text was reworded`() throws {
        for mutation in try list() {
            let source = try #require(Repository.current.text(of: mutation.file), "\(mutation.name)")
            do throws(TokenPatch.Failure) {
                _ = try mutation.patch.applied(to: source)
            } catch {
                expectNone([Finding(mutation.file, error.line, "mutation \(mutation.name): \(error)")])
            }
        }
    }

    @Test func `each mutation is in a module that the script builds with faults`() throws {
        let script = try #require(Repository.current.text(of: "Tests/Mutations/run"))
        let line = try #require(script.split(separator: "\n").first { $0.hasPrefix("modules=(") })
        let modules = line.dropFirst("modules=(".count).dropLast().split(separator: " ")
        #expect(modules.contains("Espalier"))
        for mutation in try list() {
            let module = mutation.file.split(separator: "/").dropFirst().first
            #expect(modules.contains { $0 == module }, "\(mutation.name) is in \(mutation.file)")
        }
    }

    @Test func `each test that must notice a mutation exists`() throws {
        let files = Repository.current.swiftFiles.filter(\.isTest)
        let stems = Dictionary(grouping: files, by: \.stem)
        for mutation in try list() {
            let parts = mutation.test.split(separator: "/", maxSplits: 1)
            let candidates = stems[String(parts.first ?? "")] ?? []
            let declaration = "func `\(parts.last ?? "")`("

            #expect(candidates.contains { $0.lines.contains { $0.contains(declaration) } }, "\(mutation.test)")
        }
    }

    /// The mutant of a reworded source has the tokens of the reworded mutant.
    ///
    /// A random name of the old text gets another name in the whole source, and line breaks move. A name that alone
    /// distinguishes the old text from another place of the source is left out.
    @Test func `a mutation finds its place after a renaming and other line breaks`() throws {
        let seed = testSeed(default: 150_010)
        print("ESPALIER_SEED=\(seed)")
        var chance = SeededGenerator(seed: seed)
        var found = 0
        for mutation in try list().shuffled(using: &chance).prefix(campaignCount("ESPALIER_REWORDED", default: 60)) {
            let source = TokenText(try #require(Repository.current.text(of: mutation.file)))
            let old = TokenText(mutation.patch.old).spellings
            let names = Set(old).filter { isName($0) && source.places(of: old, exceptFor: $0) == 1 }.sorted()
            // A text of less than eight tokens loses too much with a name that it has in a string, too.
            guard old.count >= 8, let name = names.randomElement(using: &chance) else { continue }
            let expected = renamed(name, in: TokenText(try mutation.patch.applied(to: source.text).text))
            let reworded = rewrapped(TokenText(renamed(name, in: source)), &chance)

            do throws(TokenPatch.Failure) {
                let mutant = TokenText(try mutation.patch.applied(to: reworded).text)
                #expect(
                    mutant.spellings == TokenText(expected).spellings, "\(mutation.name), \(name), seed \(seed)")
            } catch {
                Issue.record("\(mutation.name), \(name), seed \(seed): \(error)")
            }
            found += 1
        }
        #expect(found >= 20, "seed \(seed)")
    }

    private func isName(_ spelling: String) -> Bool {
        !Self.keywords.contains(spelling) && spelling.first.map { $0.isLetter || $0 == "_" } ?? false
    }

    /// The text with a fresh name in each place of `name`, also in strings' interpolations.
    private func renamed(_ name: String, in text: TokenText) -> String {
        var (bytes, end): ([UInt8], Int) = ([], 0)
        for token in SwiftLexer.tokens(of: text.text) where token.kind == .word && token.text == name {
            bytes += text.bytes[end..<token.bytes.lowerBound] + Array(Self.freshName.utf8)
            end = token.bytes.upperBound
        }
        return String(decoding: bytes + text.bytes[end...], as: UTF8.self)
    }

    /// The text with other white space between its tokens, wherever there is some.
    private func rewrapped(_ text: TokenText, _ chance: inout SeededGenerator) -> String {
        var bytes: [UInt8] = []
        for index in text.tokens.indices {
            let space = text.space(before: index)
            let isBlank = !space.isEmpty && space.allSatisfy { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") }
            bytes += isBlank ? Array((Bool.random(using: &chance) ? " " : "\n  ").utf8) : Array(space)
            bytes += text.bytes[text.tokens[index].bytes]
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension TokenText {
    fileprivate var text: String { String(decoding: bytes, as: UTF8.self) }

    /// The number of places that have these tokens, if any token may replace `name`.
    fileprivate func places(of old: [String], exceptFor name: String) -> Int {
        tokens.indices.dropLast(old.count - 1).count { start in
            old.indices.allSatisfy { old[$0] == name || old[$0] == spellings[start + $0] }
        }
    }
}
