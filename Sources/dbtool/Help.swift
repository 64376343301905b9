// `dbtool help`: the overview and the page of each verb, generated from the verbs' usage.

/// The help texts.
enum Help {
    /// `dbtool help [VERB]`.
    static func run(_ words: [String], _ console: Console) throws(ToolError) {
        guard words.count <= 1 else {
            throw .usage(
                UsageError(message: "help takes one verb, not \(words.count)", hint: "usage: dbtool help [VERB]"))
        }
        guard let name = words.first, name != "help" else { return printOverview(to: console.output) }
        print(try DBTool.verb(named: name).usage, to: console.output)
    }

    /// All verbs, one line each.
    static func printOverview(to sink: any TextSink) {
        var table = TextTable([.text("verb"), .text("what it does")], hasHeader: false)
        for verb in DBTool.verbs { table.append(["  " + verb.usage.name, verb.usage.summary]) }
        var codes = TextTable([.number("code"), .text("meaning")], hasHeader: false)
        for code in ExitCode.allCases { codes.append(["  \(code.rawValue)", code.meaning]) }
        sink.write(
            """
            dbtool inspects and maintains Espalier stores: object graphs in a file.

            usage: dbtool VERB ... | dbtool help VERB | dbtool --version

            \(table.rendered())
            Exit codes
            \(codes.rendered())
            'dbtool help VERB' explains a verb with examples. Start with 'dbtool demo'.

            """)
    }

    /// The page of one verb.
    static func print(_ usage: Usage, to sink: any TextSink) {
        var text = "\(usage.summary)\n\nusage: \(usage.synopsis)\n"
        var table = TextTable([.text("argument"), .text("meaning")], hasHeader: false)
        for parameter in usage.parameters { table.append(["  " + parameter.name, parameter.summary]) }
        for option in usage.options { table.append(["  " + option.synopsis, option.summary]) }
        if !table.isEmpty { text += "\n" + table.rendered() }
        if !usage.discussion.isEmpty { text += "\n\(usage.discussion)\n" }
        text += "\n\(usage.examples.count == 1 ? "Example" : "Examples")\n"
        for example in usage.examples { text += "  \(example.command)\n      \(example.meaning)\n" }
        sink.write(text)
    }
}
