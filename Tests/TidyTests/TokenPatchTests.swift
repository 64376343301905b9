// The patch of tokens by which the list of mutations finds its places in reworded sources.

import Testing

@Suite struct TokenPatchTests {
    private static let source = """
        func lead(_ log: Log) throws {
            let target = monitor.withLock { appendedLSN }
            // Readers see the commit after this.
            if isNeeded, durableLSN < target { try syncs.sync(log.file, upTo: target) }
            durableLSN = max(durableLSN, target)
        }

        """

    private static let unsynced = TokenPatch(
        old: "    if isNeeded, durableLSN < target { try syncs.sync(log.file, upTo: target) }",
        new: "    if isNeeded, durableLSN < target { try syncs.check(target) }")

    /// The result for the example's source, after the source was reworded.
    private func applied(
        _ patch: TokenPatch = unsynced, replacing text: String = "", by other: String = ""
    ) throws -> TokenPatch.Outcome {
        try patch.applied(to: text.isEmpty ? Self.source : Self.source.replacing(text, with: other))
    }

    private func failure(_ patch: TokenPatch = unsynced, in source: String) -> TokenPatch.Failure? {
        do throws(TokenPatch.Failure) {
            _ = try patch.applied(to: source)
            return nil
        } catch {
            return error
        }
    }

    @Test func `a text that is found letter by letter is replaced letter by letter`() throws {
        let outcome = try applied(TokenPatch(old: "withLock { appended", new: "withLock {  /* new */ durable"))

        #expect(outcome.text == Self.source.replacing("{ appended", with: "{  /* new */ durable"))
        #expect(outcome.line == 2)
        #expect(outcome.distance == nil)
    }

    @Test func `wrapped lines and a comment between tokens change nothing, and both remain`() throws {
        let wrapped = "if isNeeded,\n        durableLSN < target  // Not yet durable.\n    {\n        try"
        let outcome = try applied(replacing: "if isNeeded, durableLSN < target { try", by: wrapped)

        #expect(outcome.text.contains("\(wrapped) syncs.check(target) }\n"))
        #expect(outcome.distance == 0)
        #expect(outcome.line == 4)
    }

    @Test func `a renamed local has its new name in inserted text too`() throws {
        let outcome = try applied(replacing: "target", by: "goal")

        #expect(outcome.text.contains("    if isNeeded, durableLSN < goal { try syncs.check(goal) }\n"))
        #expect(outcome.distance == 1)
    }

    @Test func `a local that has its old name in another function is found`() throws {
        let other = Self.source.replacing("target", with: "goal") + "func other() { target() }\n"

        #expect(try Self.unsynced.applied(to: other).text.contains("{ try syncs.check(goal) }"))
    }

    @Test func `a renamed method that the edit removes is removed, and one that it keeps has its new name`() throws {
        let removed = try applied(replacing: "sync(", by: "flush(")
        let keeping = TokenPatch(
            old: "try syncs.sync(log.file, upTo: target)", new: "try syncs.sync(log.file, upTo: 0)")
        let kept = try applied(keeping, replacing: "sync(", by: "flush(")

        #expect(removed.text.contains("{ try syncs.check(target) }"))
        #expect(kept.text.contains("{ try syncs.flush(log.file, upTo: 0) }"))
    }

    @Test(arguments: [
        ("log.file", "log.other", "(of: log.other, upTo: target)"),
        ("(log.file, ", "(", "(upTo: target)"),
        ("target)", "0)", "(of: log.file, upTo: 0)"),
    ])
    func `a new label of an argument stays with the argument, and goes with it`(
        removed: String, inserted: String, result: String
    ) throws {
        let call = "try syncs.sync(log.file, upTo: target)"
        let patch = TokenPatch(old: call, new: call.replacing(removed, with: inserted))
        let outcome = try applied(patch, replacing: "(log.file", by: "(of: log.file")

        #expect(outcome.text.contains("try syncs.sync\(result) }"))
        #expect(outcome.distance == 2)
    }

    @Test func `new tokens just before the end of the place belong to it`() throws {
        let patch = TokenPatch(
            old: "if isNeeded { return try body() } catch { throw error.naming(path) }", new: "try body()")
        let source = "let a = 0\nif isNeeded { return try body() } catch { throw error.naming(path: path) }\n"

        #expect(try patch.applied(to: source).text == "let a = 0\ntry body()\n")
    }

    @Test func `words do not join when the words between them go`() throws {
        let patch = TokenPatch(old: "let target = monitor.withLock { appendedLSN }", new: "return appendedLSN")
        let outcome = try applied(patch, replacing: "let target = ", by: "let  target=")

        #expect(outcome.text.contains("    return appendedLSN\n"))
    }

    @Test func `two places with the same tokens are refused`() {
        let twice = Self.source + Self.source.replacing(" { ", with: "\n{\n")

        #expect(failure(in: Self.source + Self.source) == .isAmbiguous(lines: [4, 10]))
        #expect(failure(TokenPatch(old: "isNeeded , durableLSN", new: ""), in: twice) == .isAmbiguous(lines: [4, 12]))
    }

    @Test func `two places that are as near are refused`() {
        let twice = (Self.source + Self.source).replacing("isNeeded", with: "isWanted")

        #expect(failure(in: twice) == .isAmbiguous(lines: [4, 10]))
    }

    @Test func `a text that is gone is refused, and the message shows the nearest place`() throws {
        let gone = Self.source.replacing("sync(log.file, upTo: target)", with: "check()")
        let failure = try #require(self.failure(in: gone))

        #expect(failure.line == 4)
        #expect(failure.description.contains("if isNeeded, durableLSN < target { try syncs.check() }"))
        #expect(self.failure(in: "") == .isUnknown)
        #expect(self.failure(in: "import Testing\n")?.description.contains("the old text is gone") == true)
    }

    @Test func `a short text is found with equal tokens only`() {
        let short = TokenPatch(old: "var isNew", new: "")

        #expect(failure(short, in: "var\n  isNew = 1") == nil)
        #expect(failure(short, in: "var isOld = 1") != nil)
    }

    @Test func `another name that the source has as well is no renaming`() {
        let patch = TokenPatch(old: "try syncs.sync(log.file)", new: "")

        #expect(failure(patch, in: "try syncs.sync(store.file)") == nil)
        #expect(failure(patch, in: "try syncs.sync(store.file)\nlet log = 1") != nil)
    }

    @Test func `an edit that changes nothing is refused`() {
        let patch = TokenPatch(
            old: "durableLSN = max(durableLSN, target, 0)", new: "durableLSN = max(durableLSN, target)")

        #expect(failure(patch, in: Self.source) == .changesNothing(line: 5))
        let respaced = TokenPatch(old: "max(durableLSN,target)", new: "max(durableLSN, target)  // The larger one.")
        #expect(failure(respaced, in: Self.source) == .changesNothing(line: 5))
    }
}
