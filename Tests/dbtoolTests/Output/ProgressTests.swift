// The progress line: shown to people, absent for programs.

import Testing

@testable import dbtool

@Suite struct ProgressTests {
    @Test func `progress is silent unless a person looks`() {
        for isTerminal in [false, true] {
            let sink = StringSink(isTerminal: isTerminal)
            var progress = Progress(Console(output: StringSink(), errors: sink))
            progress.show("importing", 50, of: 200)
            progress.show("importing", 51, of: 200)
            progress.finish()

            #expect(sink.text == (isTerminal ? "\r\u{1B}[Kimporting: 50 of 200 (25 %)\r\u{1B}[K" : ""))
        }
    }
}
