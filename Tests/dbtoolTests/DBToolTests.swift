// The tool as a whole: help, unknown verbs, exit codes.

import Testing

@testable import dbtool

@Suite struct DBToolTests {
    @Test func `without arguments the overview goes to the errors and the code is 2`() {
        let run = ToolRun()

        #expect(run.code == 2)
        #expect(run.output.isEmpty)
        #expect(run.errors.contains("usage: dbtool VERB"))
    }

    @Test func `help and version are results`() {
        #expect(ToolRun("--version").output == "dbtool \(DBTool.version)\n")
        #expect(ToolRun("--help").output == ToolRun("help").output)
        #expect(ToolRun("check", "--help").output == ToolRun("help", "check").output)
        #expect(ToolRun("help").code == 0)
    }

    @Test func `every verb is listed and has a help page with an example of itself`() {
        let overview = ToolRun("help").output
        for verb in DBTool.verbs {
            let page = ToolRun("help", verb.usage.name).output

            #expect(overview.contains("  \(verb.usage.name) "))
            #expect(page.contains("usage: \(verb.usage.synopsis)"))
            #expect(!verb.usage.examples.isEmpty)
            for example in verb.usage.examples { #expect(example.command.hasPrefix("dbtool \(verb.usage.name)")) }
        }
    }

    @Test func `help fits a terminal of 110 columns`() {
        for verb in DBTool.verbs {
            for line in ToolRun("help", verb.usage.name).output.split(separator: "\n") {
                #expect(DisplayText.width(of: String(line)) <= 110, "\(line)")
            }
        }
    }

    @Test func `unknown verbs and options are refused with a suggestion and code 2`() {
        #expect(ToolRun("chek").code == 2)
        #expect(ToolRun("chek").errors.hasPrefix("dbtool: unknown verb 'chek': did you mean 'check'?\n"))
        #expect(ToolRun("--versoin").errors.hasPrefix("dbtool: unknown option '--versoin': did you mean '--version'?"))
        #expect(ToolRun("help", "chek").code == 2)
        #expect(ToolRun("help", "check", "info").code == 2)
    }
}
