"""The studies: a module each, whose class of the same name declares all of it (`study.Study`), and a line here.

The command `ldpflow benchmark NAME`, its options, a flow's form, the rows, the table and the page are made of that.
"""

STUDIES = {  # name of the module and of the command -> what the command does, which its help begins with
    "accuracy": "Measure errors of densities, distribution functions and numbers over many cells, beside the best peer's.",
    "coverage": "Measure how often nominal 95 % intervals hold the truth, how long they are, and what is refused.",
    "joint": "Measure numbers of two attributes together: who holds the truth, errors, and how often tests reject.",
    "points": "Measure the law of values that a scheme names, counts and incomes, beside the best of others, and intervals.",
    "rectangles": "Measure shares of two numbers' ranges together, of ours and of peers that ask for both.",
    "poisoning": "Measure what malicious clients gain beside what theory says, stated bounds, and what checks see of them.",
    "rates": "Measure how errors fall as n epsilon^2 grows, from 1e6 to 1e10, and draw them against the theory.",
    "speed": "Measure clients and reports a second beside the machine's own draws and counts, and peers; rounds, memory.",
    "profile": "Tell where the processor time and the memory of `ldpflow run` go, step by step, and land it.",
    "collector": "Send reports over HTTP to a collector and, in turns, to an empty handler; land rate and wait.",
}
