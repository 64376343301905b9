// The command line: the arguments that the parser accepts, and its precise errors for all others.

import Testing

@testable import dbtool

@Suite struct ArgumentParserTests {
    private static let usage = Usage(
        name: "fetch", summary: "fetch rows",
        parameters: [.required("FILE", "the store"), .optional("PREDICATE", "a condition")],
        options: [
            .json, .integer("--limit", "N", in: 0...1000, "at most N rows"), .text("--sort", "KEYS", "the order"),
        ],
        examples: [.init(command: "dbtool fetch x", meaning: "all")])

    private func parse(_ words: String...) throws -> Arguments { try ArgumentParser(Self.usage).parse(words) }

    private func message(_ words: String...) -> String {
        do throws(ToolError) {
            _ = try ArgumentParser(Self.usage).parse(words)
            return "parsed"
        } catch {
            return error.description.split(separator: "\n").first.map(String.init) ?? ""
        }
    }

    @Test func `options stand anywhere and take their value as the next word or after an equals sign`() throws {
        let arguments = try parse("--limit", "5", "a.espalier", "--sort=name desc", "x > 1", "--json")

        #expect(arguments.required("FILE") == "a.espalier")
        #expect(arguments["PREDICATE"] == "x > 1")
        #expect(arguments.integer("--limit") == 5)
        #expect(arguments.text("--sort") == "name desc")
        #expect(arguments.wantsJSON)
    }

    @Test func `after two dashes everything is positional`() throws {
        let arguments = try parse("--", "--json", "--limit")

        #expect(arguments.required("FILE") == "--json")
        #expect(arguments["PREDICATE"] == "--limit")
        #expect(!arguments.wantsJSON)
    }

    @Test func `each word that does not fit is named`() {
        #expect(message("f", "--jsn") == "unknown option '--jsn': did you mean '--json'?")
        #expect(message("f", "--frobnicate") == "unknown option '--frobnicate'")
        #expect(message("f", "--limit") == "--limit needs a value: --limit N")
        #expect(message("f", "--limit", "ten") == "--limit needs a whole number from 0 to 1000, not 'ten'")
        #expect(message("f", "--limit=1001") == "--limit needs a whole number from 0 to 1000, not '1001'")
        #expect(message("f", "--json", "--json") == "--json is given twice")
        #expect(message("f", "--json=yes") == "--json takes no value, but was given 'yes'")
        #expect(message("f", "a", "b") == "unexpected argument 'b'; quote a predicate as one argument")
        #expect(message() == "FILE is missing: the store")
    }

    @Test func `only a verb that takes a predicate advises to quote it`() {
        #expect(ToolRun("info", "a", "b").errors.hasPrefix("dbtool: unexpected argument 'b'\nusage: dbtool info"))
    }

    @Test func `suggestions are near misses, prefixes or nothing`() {
        #expect(Suggestion.closest(to: "chekc", among: ["check", "info"]) == "check")
        #expect(Suggestion.closest(to: "artst", among: ["Artist", "Album"]) == "Artist")
        #expect(Suggestion.closest(to: "invoicel", among: ["Track", "InvoiceLine"]) == "InvoiceLine")
        #expect(Suggestion.closest(to: "zebra", among: ["check", "info"]) == nil)
    }
}
