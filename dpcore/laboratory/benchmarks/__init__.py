"""The studies: a module each, whose class of the same name declares all of it (`study.Study`), and a line here.

The command `ldpflow benchmark NAME`, its options, a flow's form, the rows, the table and the page are made of that.

Modules:
    accuracy: the accuracy study: errors of densities
    collector: how many reports a second a collector takes over HTTP
    coverage: the coverage study: how often nominal 95 % intervals cover the true value, how long they are
    joint: the study of two attributes together: coverage of nominal 95 % intervals
    option: an option of a study, declared with its field; it defines the command's option
    options: the study of options: shares where a respondent may choose several
    points: the study of values on points
    poisoning: the study of malicious clients: their gains, compared with theory
    profile: where the processor time and the memory of a round go, step by step
    rates: the study of rates: how errors fall as n epsilon^2 grows, compared with theory
    rectangles: the study of rectangles: mean squared errors of shares of two numbers' ranges together
    reproduce: the documents' tables and figures: measured where the warehouse lacks them, drawn
    speed: the study of speed: clients, reports and rounds a second
    study: what a study is: what it can be asked, its pieces of work, its rows, its table
    texts: the study of open answers: frequent texts that nobody has listed
"""

STUDIES = {  # name of the module and of the command -> what the command does, which its help begins with
    "accuracy": "Measure errors of densities, distribution functions and numbers over many cells, beside the best peer's.",
    "coverage": "Measure how often nominal 95 % intervals cover the true value, how long they are, and what is refused.",
    "joint": "Measure statistics of two attributes: coverage of intervals, errors, and rejection rates of tests.",
    "options": "Measure shares where a respondent may choose several options, beside published constructions, and coverage.",
    "points": "Measure discrete distributions, such as counts and incomes, against the best peer, and coverage of intervals.",
    "rectangles": "Measure shares of two numbers' ranges together, of ours and of peers that ask for both.",
    "texts": "Measure which frequent texts are found that nobody has listed, beside three papers, and false discoveries.",
    "poisoning": "Measure the gains of malicious clients against theory and stated bounds, and how often checks detect them.",
    "rates": "Measure how errors fall as n epsilon^2 grows, from 1e6 to 1e10, and draw them against the theory.",
    "speed": "Measure clients and reports a second beside the machine's own draws and counts, and peers; rounds, memory.",
    "profile": "Tell where the processor time and the memory of `ldpflow run` go, step by step, and land it.",
    "collector": "Send reports over HTTP to a collector and, in turns, to an empty handler; land rate and wait.",
}
