// The progress of a long task: one line on standard error that overwrites itself, only on a terminal.

/// A line of progress.
struct Progress {
    private let sink: (any TextSink)?
    private let clock = ContinuousClock()
    private var lastUpdate: ContinuousClock.Instant?

    /// Progress on the console's error sink; silent unless that is a terminal.
    init(_ console: Console) { sink = console.errors.isTerminal ? console.errors : nil }

    /// Shows `done` of `total` units, at most ten times a second, so that frequent calls cost little.
    mutating func show(_ label: String, _ done: some BinaryInteger, of total: some BinaryInteger) {
        let percent = total == 0 ? 100 : Int(done) * 100 / Int(total)
        show("\(label): \(DisplayText.grouped(done)) of \(DisplayText.grouped(total)) (\(percent) %)")
    }

    /// Shows `done` units of a number that is not known.
    mutating func show(_ label: String, _ done: some BinaryInteger) { show("\(label): \(DisplayText.grouped(done))") }

    /// Shows a text unless another one was shown a moment ago.
    private mutating func show(_ text: @autoclosure () -> String) {
        guard let sink else { return }
        let now = clock.now
        if let lastUpdate, now - lastUpdate < .milliseconds(100) { return }
        lastUpdate = now
        // Carriage return, then "erase to the end of the line" (ECMA-48 EL).
        sink.write("\r\u{1B}[K\(text())")
    }

    /// Erases the line.
    mutating func finish() {
        guard let sink, lastUpdate != nil else { return }
        sink.write("\r\u{1B}[K")
        lastUpdate = nil
    }
}
