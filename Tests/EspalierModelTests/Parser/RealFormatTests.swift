// Formats that public code uses: each is read, and means the same when it is printed and read again, or is refused with
// a reason (PR-01 to PR-17). The list says where each comes from (`Formats/formats.txt`).

import EspalierModel
import Foundation
import TestSupport
import Testing

@Suite struct RealFormatTests {
    /// A format, and the repository where it was met.
    private struct Format {
        let repository: String
        let text: String
        /// A part of the error that refuses the format; `nil` if it is read.
        let refusal: String?
    }

    private static func formats() throws -> [Format] {
        let path = Checkout.root.appending(path: "Tests/EspalierModelTests/Formats/formats.txt")
        var (formats, repository): ([Format], String) = ([], "")
        for line in try String(contentsOf: path, encoding: .utf8).split(separator: "\n") where !line.hasPrefix("#") {
            if line.hasPrefix("= ") {
                repository = String(line.dropFirst(2))
            } else if line.hasPrefix("refused "), let end = line.firstIndex(of: "|") {
                let (part, text) = (line[..<end].dropFirst(8), line[line.index(after: end)...])
                formats.append(Format(repository: repository, text: String(text), refusal: String(part)))
            } else {
                formats.append(Format(repository: repository, text: String(line), refusal: nil))
            }
        }
        return formats
    }

    /// An argument for each placeholder: a name, a number, a list where the operator wants one, else a text.
    private static func arguments(of format: String) -> [any PredicateArgument] {
        var arguments: [any PredicateArgument] = []
        var (quote, words): (Character?, String) = (nil, "")
        var rest = format[...]
        while let character = rest.popFirst() {
            if let open = quote {
                if character == open { quote = nil }
                continue
            }
            if character == "'" || character == "\"" { quote = character }
            guard character == "%" else {
                words.append(character)
                continue
            }
            let kind = rest.prefix { $0 == "@" || $0 == "K" || "hlqdDiuUxXoOfeEgG".contains($0) }
            let isObject = kind.first == "@" || kind.first == "K"
            let length = isObject ? 1 : kind.count
            rest = rest.dropFirst(length)
            let last = words.split(separator: " ").last?.uppercased()
            switch (kind.first, kind.prefix(length).last) {
            case ("K"?, _): arguments.append("name\(arguments.count)")
            case ("@"?, _) where last == "IN": arguments.append(["x", "y"])
            case ("@"?, _) where last == "BETWEEN": arguments.append([1, 2])
            case ("@"?, _): arguments.append("x")
            case (_, "f"?), (_, "e"?), (_, "g"?): arguments.append(1.5)
            default: arguments.append(arguments.count)
            }
            words = ""
        }
        return arguments
    }

    @Test func `formats of public code are read, and mean the same when they are printed and read again`() throws {
        let formats = try Self.formats()
        #expect(formats.count >= 700)
        for format in formats {
            do {
                let arguments = Self.arguments(of: format.text)
                let predicate = try FetchPredicate(format: format.text, argumentArray: arguments)
                #expect(format.refusal == nil, "\(format.text) is read")
                #expect(try FetchPredicate(format: predicate.description) == predicate, "\(format.text)")
            } catch {
                let part = format.refusal ?? "no error"
                #expect("\(error)".contains(part), "\(format.text) (\(format.repository)): \(error)")
            }
        }
    }

    @Test func `the list has every operator that its sources have, infix & and | too`() throws {
        let all = try Self.formats().map(\.text).joined(separator: "\n")
        for part in [
            "SUBQUERY", "ANY ", "ALL ", "NONE ", "NOT ", "BETWEEN", "MATCHES", "LIKE", "BEGINSWITH", "ENDSWITH",
            "CONTAINS", " IN ", "@count", "[LAST]", "[3]", "%K.%K", "$FETCH_SOURCE", "(%K & %d)", "&&", "TRUEPREDICATE",
        ] { #expect(all.contains(part), "\(part)") }
        // The one operator of the sources of which the list has no example.
        let bits = try FetchPredicate(format: "(%K | %d) == %d", "flags", 4, 7)
        #expect(bits.description == "flags | 4 == 7")
    }
}
